#pragma once

#include "core/driver/context/TimerContext.h"

#include <memory>
#include <utility>

namespace timingwheel::test {

/// A context that no timer has. One on the heap goes when nobody refers to it any more.
class LoneContext final : private detail::TimerContext::Whole, public detail::TimerContext {
public:
    /// Owns one on the heap as a timer does: others may keep it.
    struct Release {
        void operator()(LoneContext* context) const noexcept { context->release(); }
    };
    using Pointer = std::unique_ptr<LoneContext, Release>;

    LoneContext(TimerOptions timerOptions, detail::DrivenBy driver)
        : TimerContext{std::move(timerOptions), driver, *this} {}
    LoneContext(TimerOptions timerOptions, bool concurrent)
        : LoneContext{std::move(timerOptions),
                      concurrent ? detail::DrivenBy::thread : detail::DrivenBy::caller} {}

    static Pointer make(TimerOptions timerOptions) {
        return Pointer{new LoneContext{std::move(timerOptions), true}};
    }

private:
    void destroy() noexcept override { delete this; }
};

}  // namespace timingwheel::test
