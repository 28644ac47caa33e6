#pragma once

#include "Contender.h"

#include <timingwheel/Timer.h>

#include <chrono>
#include <concepts>
#include <cstddef>

namespace timingwheel::compare {

/// Any timer of this library with a thread of its own. `Make` makes one for a tick.
template <class Make>
class WheelContender {
public:
    using Token = Timeout;
    static constexpr bool kFillInOrder = false;

    explicit WheelContender(std::chrono::nanoseconds tick) : timer_(Make{}(tick)) {}

    void schedule(Token& token, std::chrono::nanoseconds delay, Callback callback) {
        token = timer_.newTimeout(callback, delay);
    }
    void cancel(Token& token) {
        token.cancel();
        token = {};
    }
    void settle() {}
    std::size_t pending() const { return timer_.pendingTimeouts(); }

protected:
    timingwheel::Timer& timer() noexcept { return timer_; }

private:
    using Timer = std::invoke_result_t<Make, std::chrono::nanoseconds>;
    static_assert(std::derived_from<Timer, timingwheel::Timer>);
    Timer timer_;
};

}  // namespace timingwheel::compare
