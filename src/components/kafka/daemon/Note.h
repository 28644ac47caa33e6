#pragma once

#include <librdkafka/rdkafka.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

/// The note beside each committed offset: how many partitions there were. The topics cannot say how
/// many there were before somebody added some.
namespace timingwheel::inline v1::kafka {

inline constexpr std::string_view kNote = "partitions=";

inline void note(rd_kafka_topic_partition_t& offset, std::int32_t partitions) {
    std::string const text = std::string{kNote} + std::to_string(partitions);
    offset.metadata = strdup(text.c_str());  // the list frees it
    offset.metadata_size = offset.metadata == nullptr ? 0 : text.size();
}

/// 0 if there is none.
inline std::int32_t noted(rd_kafka_topic_partition_t const& offset) noexcept {
    std::int32_t partitions = 0;
    std::string_view text{static_cast<char const*>(offset.metadata), offset.metadata_size};
    if (!text.starts_with(kNote)) return 0;
    text.remove_prefix(kNote.size());
    std::from_chars(text.data(), text.data() + text.size(), partitions);
    return partitions;
}

}  // namespace timingwheel::inline v1::kafka
