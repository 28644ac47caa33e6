#pragma once

#include <timingwheel/Tick.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace timingwheel::inline v1::detail {

/// The tick at which a keeper next needs the driver: Tick::max() if never.
///
/// A thread that makes it earlier looks at the driver's alarm afterwards. The driver publishes
/// until when it will sleep, and then looks here. All of that is sequentially consistent, so one of
/// the two sees the other (DriverAlarm.h).
///
/// Thread safety  any number of threads. But set() may undo what another thread writes meanwhile,
///                and lower() needs to be the only writer
class NextWake {
public:
    Tick get() const noexcept { return Tick{tick_.load(std::memory_order_seq_cst)}; }
    void set(Tick tick) noexcept { tick_.store(tick.value(), std::memory_order_seq_cst); }

    /// Makes it `tick` if that is earlier.
    void lower(Tick tick) noexcept {
        if (tick.value() < tick_.load(std::memory_order_relaxed)) set(tick);
    }
    /// The same, while others may do it too. True if this call made it earlier.
    bool lowerBesideOthers(Tick tick) noexcept {
        std::int64_t seen = tick_.load(std::memory_order_seq_cst);
        while (tick.value() < seen) {
            if (tick_.compare_exchange_weak(seen, tick.value(), std::memory_order_seq_cst))
                return true;
        }
        return false;
    }
    /// Makes it `tick` if it is earlier than that, and returns the result. For the driver, which
    /// comes by then and looks again, in order, before it sleeps: so this orders nothing.
    Tick raise(Tick tick) noexcept {
        std::int64_t seen = tick_.load(std::memory_order_relaxed);
        while (seen < tick.value() &&
               !tick_.compare_exchange_weak(seen, tick.value(), std::memory_order_relaxed)) {
        }
        return std::max(Tick{seen}, tick);
    }

private:
    std::atomic<std::int64_t> tick_{Tick::kMax};
};

}  // namespace timingwheel::inline v1::detail
