#include "core/facade/LiveTimers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace timingwheel::inline v1::detail {

namespace {

void write(std::string const& name, LiveTimer::Logger const& logger, TimerLog::Level level,
           std::string_view message) noexcept {
    try {
        if (logger) return logger({level, name, message});
        std::fprintf(stderr, "timer \"%s\": %s: %.*s\n", name.c_str(),
                     level == TimerLog::Level::error ? "error" : "warning",
                     static_cast<int>(message.size()), message.data());
    } catch (...) {
        std::fprintf(stderr, "timer \"%s\": its logger threw\n", name.c_str());
    }
}

}  // namespace

/// The live timers of this process. Never destroyed: a timer may outlive every static object.
class LiveTimers {
public:
    static LiveTimers& instance() {
        static auto* const timers = new LiveTimers;
        return *timers;
    }

    /// Returns how many live now if that should be reported, otherwise 0.
    std::size_t add(LiveTimer& timer) {
        std::lock_guard const lock{mutex_};
        timers_.push_back(&timer);
        if (timers_.size() <= kMost || std::exchange(isReported_, true)) return 0;
        return timers_.size();
    }
    /// Returns false if it is not one of them.
    bool remove(LiveTimer& timer) noexcept {
        std::lock_guard const lock{mutex_};
        return std::erase(timers_, &timer) > 0;
    }

private:
    static constexpr std::size_t kMost = 64;

    LiveTimers() {
        std::atexit([] { instance().reportAtExit(); });
    }

    /// What the report of a leaked timer needs. The timer may be gone by then.
    struct Leaked {
        std::string name;
        LiveTimer::Logger logger;
    };

    void reportAtExit() noexcept {
        while (std::optional<Leaked> const leaked = takeLeaked())
            write(leaked->name, leaked->logger, TimerLog::Level::error,
                  "nobody called stop() before the process ended");
    }

    /// The next timer to report. Removes it from the live ones.
    std::optional<Leaked> takeLeaked() noexcept {
        std::lock_guard const lock{mutex_};
        std::erase_if(timers_, [](LiveTimer const* timer) { return !timer->leakDetection_; });
        if (timers_.empty()) return std::nullopt;
        LiveTimer const& timer = *timers_.front();
        timers_.erase(timers_.begin());
        Leaked leaked;
        try {
            leaked.name = timer.name_;
            leaked.logger = timer.logger_;
        } catch (std::bad_alloc const&) {
            // Without memory for its logger, stderr gets the report.
        }
        return leaked;
    }

    std::mutex mutex_;  // protects what follows
    std::vector<LiveTimer*> timers_;
    bool isReported_ = false;
};

LiveTimer::LiveTimer(std::string name, Logger logger, bool leakDetection)
    : name_{std::move(name)}, logger_{std::move(logger)}, leakDetection_{leakDetection} {
    std::size_t const live = LiveTimers::instance().add(*this);
    if (live == 0) return;
    try {
        log(TimerLog::Level::error, std::to_string(live) +
                                        " HashedWheelTimers live in this process, each with a "
                                        "thread of its own: share one");
    } catch (std::bad_alloc const&) {
        // The notice is not worth failing for, and the timer is registered already.
    }
}

LiveTimer::~LiveTimer() {
    if (!LiveTimers::instance().remove(*this) || !leakDetection_) return;
    log(TimerLog::Level::error, "was destroyed without stop()");
}

void LiveTimer::stopped() noexcept { LiveTimers::instance().remove(*this); }

void LiveTimer::log(TimerLog::Level level, std::string_view message) const noexcept {
    write(name_, logger_, level, message);
}

}  // namespace timingwheel::inline v1::detail
