#pragma once

#include <timingwheel/kafka/TimerClient.h>

#include <librdkafka/rdkafka.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>

/// librdkafka's handles as owners, and its errors as exceptions.
namespace timingwheel::inline v1::kafka {

using Settings = std::map<std::string, std::string>;

/// The KafkaError of what librdkafka reports. No other code makes one.
class ClientError : public KafkaError {
public:
    ClientError(std::string const& what, rd_kafka_resp_err_t code)
        : KafkaError{what + ": " + rd_kafka_err2str(code), code} {}
    /// Takes the error.
    ClientError(std::string const& what, rd_kafka_error_t* error)
        : KafkaError{what + ": " + rd_kafka_error_string(error), rd_kafka_error_code(error)},
          isFatal_{rd_kafka_error_is_fatal(error) != 0},
          isRetriable_{rd_kafka_error_is_retriable(error) != 0} {
        rd_kafka_error_destroy(error);
    }

    rd_kafka_resp_err_t code() const noexcept {
        return static_cast<rd_kafka_resp_err_t>(KafkaError::code());
    }
    /// The client is of no use any more.
    bool isFatal() const noexcept { return isFatal_; }
    /// The same call may succeed if it is repeated.
    bool isRetriable() const noexcept { return isRetriable_; }

private:
    bool isFatal_ = false;
    bool isRetriable_ = false;
};

inline void check(rd_kafka_error_t* error, std::string const& what) {
    if (error != nullptr) throw ClientError{what, error};
}

inline void check(rd_kafka_resp_err_t error, std::string const& what) {
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) throw ClientError{what, error};
}

template <class Handle, void (*destroy)(Handle*)>
struct DestroyedBy {
    void operator()(Handle* handle) const noexcept { destroy(handle); }
};
template <class Handle, void (*destroy)(Handle*)>
using Owned = std::unique_ptr<Handle, DestroyedBy<Handle, destroy>>;

using Client = Owned<rd_kafka_t, rd_kafka_destroy>;
using Message = Owned<rd_kafka_message_t, rd_kafka_message_destroy>;
using PartitionList = Owned<rd_kafka_topic_partition_list_t, rd_kafka_topic_partition_list_destroy>;

inline PartitionList partitionList(std::string const& topic, std::int32_t partition,
                                   std::int64_t offset = RD_KAFKA_OFFSET_INVALID) {
    PartitionList list{rd_kafka_topic_partition_list_new(1)};
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset = offset;
    return list;
}

/// A configuration of librdkafka, until a client takes it.
class Configuration {
public:
    /// Throws std::invalid_argument that names the key, and not the value: it may be secret.
    explicit Configuration(Settings const& settings) : conf_{rd_kafka_conf_new()} {
        for (auto const& [key, value] : settings) {
            // librdkafka reads both up to there.
            if ((key + value).find('\0') != std::string::npos)
                throw std::invalid_argument{key + ": it must be without a zero byte"};
            char reason[512];
            if (rd_kafka_conf_set(conf_.get(), key.c_str(), value.c_str(), reason, sizeof reason) !=
                RD_KAFKA_CONF_OK)
                throw std::invalid_argument{key + ": " + reason};
        }
    }

    rd_kafka_conf_t* get() noexcept { return conf_.get(); }

    Client makeClient(rd_kafka_type_t type) {
        char reason[512];
        Client client{rd_kafka_new(type, conf_.get(), reason, sizeof reason)};
        if (!client) throw std::invalid_argument{std::string{"librdkafka: "} + reason};
        [[maybe_unused]] rd_kafka_conf_t* const taken = conf_.release();
        return client;
    }

private:
    Owned<rd_kafka_conf_t, rd_kafka_conf_destroy> conf_;
};

}  // namespace timingwheel::inline v1::kafka
