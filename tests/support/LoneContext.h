#pragma once

#include "context/TimerContext.h"

#include <utility>

namespace timingwheel::test {

/// A context that no timer has. One on the heap goes when nobody refers to it any more.
class LoneContext final : private detail::TimerContext::Whole, public detail::TimerContext {
public:
    LoneContext(TimerOptions timerOptions, bool concurrent)
        : TimerContext{std::move(timerOptions), concurrent, *this} {}

private:
    void destroy() noexcept override { delete this; }
};

}  // namespace timingwheel::test
