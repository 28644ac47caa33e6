#pragma once

#include "components/kafka/daemon/Command.h"
#include "components/kafka/daemon/Record.h"

#include <timingwheel/wheel/TimerTaskEntry.h>

#include <boost/intrusive/unordered_set_hook.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace timingwheel::inline v1::kafka {

/// A timer that is pending: an entry of the wheel and of the table of ids, and behind it, in the
/// same block of memory, what will be delivered.
class PendingTimer
    : public TimerTaskEntry,
      public boost::intrusive::unordered_set_base_hook<boost::intrusive::store_hash<true>> {
public:
    struct Free {
        void operator()(PendingTimer* timer) const noexcept;
    };
    using Owner = std::unique_ptr<PendingTimer, Free>;

    /// `target` stands for the topic. The header's names and values are copied.
    static Owner make(Command const& command, std::uint32_t target);

    PendingTimer(PendingTimer const&) = delete;
    PendingTimer& operator=(PendingTimer const&) = delete;

    std::string_view id() const noexcept { return {bytes(), idSize_}; }
    std::uint32_t target() const noexcept { return target_; }
    /// What is delivered.
    std::optional<std::string_view> key() const noexcept;
    std::optional<std::string_view> value() const noexcept;
    std::vector<Header> headers() const;
    /// When it recurs: see Recurrence. Empty: it does not.
    std::vector<Header> rule() const;

    /// Memory used, in bytes.
    std::size_t size() const noexcept;

    /// When it is due: milliseconds since 1970. The wheel's entry may say later.
    std::int64_t at;
    /// It was pushed back, and will be again.
    bool isMoved = false;

private:
    PendingTimer(Command const& command, std::uint32_t target) noexcept;
    ~PendingTimer() = default;

    char const* bytes() const noexcept { return reinterpret_cast<char const*>(this + 1); }
    std::size_t headersAt() const noexcept { return idSize_ + keySize_; }
    std::size_t ruleAt() const noexcept { return headersAt() + headersSize_; }
    std::size_t valueAt() const noexcept { return ruleAt() + ruleSize_; }

    // Behind this object lie the id, the key, the headers, the rule and the value.
    bool hasKey_;
    bool hasValue_;
    std::uint16_t idSize_;
    std::uint32_t target_;
    std::uint32_t keySize_;
    std::uint32_t headersSize_;
    std::uint32_t ruleSize_;
    std::uint32_t valueSize_;
};

}  // namespace timingwheel::inline v1::kafka
