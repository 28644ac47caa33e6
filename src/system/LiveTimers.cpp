#include "system/LiveTimers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace timingwheel {
inline namespace v1 {
namespace detail {

namespace {

void write(std::string const& name, LiveTimer::Logger const& logger, TimerLog::Level level,
           std::string const& message) noexcept {
    try {
        if (logger) return logger({level, name, message});
        std::fprintf(stderr, "timer \"%s\": %s: %s\n", name.c_str(),
                     level == TimerLog::Level::error ? "error" : "warning", message.c_str());
    } catch (...) {
        std::fprintf(stderr, "timer \"%s\": its logger threw\n", name.c_str());
    }
}

}  // namespace

/// The live ones of this process. Never destroyed: a timer may outlive every static object.
class LiveTimers {
public:
    static LiveTimers& instance() {
        static auto* const timers = new LiveTimers;
        return *timers;
    }

    /// Returns how many live now, if that is to be told, and 0 otherwise.
    std::size_t add(LiveTimer& timer) {
        std::lock_guard const lock{mutex_};
        timers_.push_back(&timer);
        if (timers_.size() <= kMost || std::exchange(isTold_, true)) return 0;
        return timers_.size();
    }
    /// Returns false if it is none of them.
    bool remove(LiveTimer& timer) noexcept {
        std::lock_guard const lock{mutex_};
        return std::erase(timers_, &timer) > 0;
    }

private:
    static constexpr std::size_t kMost = 64;

    LiveTimers() {
        std::atexit([] { instance().reportAtExit(); });
    }

    void reportAtExit() {
        std::vector<std::pair<std::string, LiveTimer::Logger>> leaked;
        {
            std::lock_guard const lock{mutex_};
            for (LiveTimer const* timer : timers_)
                if (timer->leakDetection_) leaked.emplace_back(timer->name_, timer->logger_);
            timers_.clear();
        }
        for (auto& [name, logger] : leaked)
            write(name, logger, TimerLog::Level::error,
                  "nobody called stop() before the process ended");
    }

    std::mutex mutex_;  // protects what follows
    std::vector<LiveTimer*> timers_;
    bool isTold_ = false;
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
        // A notice is not worth a timer; and this one is known already.
    }
}

LiveTimer::~LiveTimer() {
    if (!LiveTimers::instance().remove(*this) || !leakDetection_) return;
    log(TimerLog::Level::error, "was destroyed without stop()");
}

void LiveTimer::stopped() noexcept { LiveTimers::instance().remove(*this); }

void LiveTimer::log(TimerLog::Level level, std::string const& message) const noexcept {
    write(name_, logger_, level, message);
}

}  // namespace detail
}  // namespace v1
}  // namespace timingwheel
