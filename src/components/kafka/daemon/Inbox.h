#pragma once

#include "components/kafka/client/Client.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace timingwheel::inline v1::kafka {

/// Where the consumer's thread puts a partition's commands, and the partition's thread finds them.
/// It is closed until the partition's thread says at which offset to begin, and the consumer has
/// gone there: what came before is dropped.
class Inbox {
public:
    /// The most messages. kMaxBytes bounds their bytes; a larger message comes alone.
    explicit Inbox(std::size_t capacity) : capacity_{capacity} {}

    struct Read {
        Message message;
        std::size_t bytes;
        std::int64_t logBegin;  // when it was put here, if offsets before it were passed over
    };

    // The partition's thread.

    void openAt(std::int64_t offset) {
        std::lock_guard const lock{mutex_};
        close(lock);
        begin_ = next_ = offset;
    }
    void close() {
        std::lock_guard const lock{mutex_};
        close(lock);
    }
    /// Waits until there is something, or wake() is called, or until `patience` has passed. Takes
    /// at most `atMost`, in order, and ends before the first that `waits`.
    template <class Waits>
    std::vector<Read> take(std::size_t atMost, std::chrono::milliseconds patience,
                           Waits const& waits) {
        std::unique_lock lock{mutex_};
        hasNews_.wait_for(lock, patience, [this] { return !messages_.empty() || isWoken_; });
        isWoken_ = false;
        std::vector<Read> taken;
        std::size_t const stopAt = bytes_ - std::min(bytes_, kMaxBytes / 2);
        while (!messages_.empty() && taken.size() < atMost && (bytes_ > stopAt || taken.empty()) &&
               !waits(*messages_.front().message)) {
            bytes_ -= messages_.front().bytes;
            taken.push_back(std::move(messages_.front()));
            messages_.pop_front();
        }
        return taken;
    }

    // The consumer's thread.

    /// Where to begin, if that was asked for and not yet done.
    std::optional<std::int64_t> wantedBegin() const {
        std::lock_guard const lock{mutex_};
        return isOpen_ ? std::nullopt : begin_;
    }
    /// The consumer is at `offset` now. False if another was asked for meanwhile.
    bool open(std::int64_t offset) {
        std::lock_guard const lock{mutex_};
        if (begin_ != offset) return false;
        return isOpen_ = true;
    }
    bool isOpen() const {
        std::lock_guard const lock{mutex_};
        return isOpen_;
    }
    /// A command, or the note that all up to its offset was read. `logBegin()` is asked only if
    /// offsets before it are passed over; once it is taken, retention may have removed what was
    /// read.
    template <class LogBegin>
    void put(Message message, LogBegin const& logBegin) {
        std::size_t const bytes = bytesOf(*message);
        std::lock_guard const lock{mutex_};
        if (!isOpen_ || message->offset < *begin_) return;
        std::int64_t const offset = message->offset;
        bool const isCommand = message->err == RD_KAFKA_RESP_ERR_NO_ERROR;
        messages_.push_back({std::move(message), bytes, offset > next_ ? logBegin() : 0});
        next_ = std::max(next_, offset + (isCommand ? 1 : 0));
        bytes_ += bytes;
        hasNews_.notify_one();
    }
    bool isFull() const {
        std::lock_guard const lock{mutex_};
        return messages_.size() >= capacity_ || bytes_ >= kMaxBytes;
    }
    bool isHalfEmpty() const {
        std::lock_guard const lock{mutex_};
        return messages_.size() <= capacity_ / 2 && bytes_ <= kMaxBytes / 2;
    }
    void wake() {
        std::lock_guard const lock{mutex_};
        isWoken_ = true;
        hasNews_.notify_one();
    }

private:
    static constexpr std::size_t kMaxBytes = 32'000'000;

    static std::size_t bytesOf(rd_kafka_message_t const& message) noexcept {
        constexpr std::size_t kOwn = 400;       // librdkafka's
        constexpr std::size_t kOfAHeader = 60;  // and as it lies in the message, and apart
        std::size_t bytes = kOwn + message.key_len + message.len;
        rd_kafka_headers_t* headers = nullptr;
        if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
            return bytes;
        char const* name = nullptr;
        void const* value = nullptr;
        std::size_t size = 0;
        for (std::size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) ==
                                RD_KAFKA_RESP_ERR_NO_ERROR;
             ++i)
            bytes += kOfAHeader + 2 * (std::strlen(name) + size);
        return bytes;
    }
    void close(std::lock_guard<std::mutex> const&) {
        messages_.clear();
        bytes_ = 0;
        begin_.reset();
        isOpen_ = false;
    }

    std::size_t const capacity_;
    mutable std::mutex mutex_;
    std::condition_variable hasNews_;
    std::deque<Read> messages_;
    std::size_t bytes_ = 0;
    std::optional<std::int64_t> begin_;
    std::int64_t next_ = 0;  // behind what was put here
    bool isOpen_ = false;
    bool isWoken_ = false;
};

}  // namespace timingwheel::inline v1::kafka
