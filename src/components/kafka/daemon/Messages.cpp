#include "components/kafka/daemon/Messages.h"

#include <cstddef>
#include <optional>

namespace timingwheel::inline v1::kafka {

Record recordOf(rd_kafka_message_t const& message) {
    Record record;
    auto const view = [](void const* bytes, std::size_t size) -> std::optional<std::string_view> {
        if (bytes == nullptr) return std::nullopt;
        return std::string_view{static_cast<char const*>(bytes), size};
    };
    record.key = view(message.key, message.key_len);
    record.value = view(message.payload, message.len);
    record.offset = message.offset;
    rd_kafka_headers_t* headers = nullptr;
    if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return record;
    char const* name = nullptr;
    void const* value = nullptr;
    std::size_t size = 0;
    for (std::size_t i = 0;
         rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i)
        record.headers.push_back({name, view(value, size)});
    return record;
}

std::int32_t partitionOf(std::string_view key, std::int32_t partitions) noexcept {
    return rd_kafka_msg_partitioner_murmur2(nullptr, key.data(), key.size(), partitions, nullptr,
                                            nullptr);
}

}  // namespace timingwheel::inline v1::kafka
