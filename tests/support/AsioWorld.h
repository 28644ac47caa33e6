#pragma once

#include <support/AsioHandClock.h>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>

/// Random courses on one of Asio's timers. All that can be seen of them goes to a text, by which
/// two timers are compared.
namespace timingwheel::test {

using namespace std::chrono_literals;

struct Thrown {};

/// What the handlers of one world have told and taken.
struct Log {
    std::ostringstream text;
    std::size_t allocated = 0;
    std::size_t freed = 0;
    int destroyed = 0;
};

template <class T>
struct CountingAllocator {
    using value_type = T;
    explicit CountingAllocator(Log& to) noexcept : log{&to} {}
    template <class U>
    CountingAllocator(CountingAllocator<U> const& other) noexcept : log{other.log} {}
    T* allocate(std::size_t n) {
        ++log->allocated;
        return static_cast<T*>(::operator new(n * sizeof(T)));
    }
    void deallocate(T* p, std::size_t) noexcept {
        ++log->freed;
        ::operator delete(p);
    }
    bool operator==(CountingAllocator const& other) const noexcept { return log == other.log; }
    Log* log;
};

/// Who keeps a timer's waits: the context, unless the type says otherwise.
template <class Timer>
struct KeptBy {
    explicit KeptBy(net::io_context&) {}
    /// Has what is due in the context when this returns.
    void settle() {}
};

/// One context with some timers. All that can be seen of it goes to a log.
template <class Timer>
class World {
public:
    static constexpr std::size_t kTimers = 6;
    using TimePoint = typename Timer::time_point;

    explicit World(Log& log) : log_{log} {
        for (auto& each : timers_) each.emplace(context_);
    }

    void expiresAt(std::size_t i, TimePoint time) { tell("at ", timers_[i]->expires_at(time)); }
    void expiresAfter(std::size_t i, std::chrono::milliseconds delay) {
        tell("after ", timers_[i]->expires_after(delay));
    }
    void cancel(std::size_t i) { tell("cancel ", timers_[i]->cancel()); }
    void cancelOne(std::size_t i) { tell("one ", timers_[i]->cancel_one()); }
    void moveConstruct(std::size_t to, std::size_t from) {
        if (to == from) return;
        timers_[to].reset();
        timers_[to].emplace(std::move(*timers_[from]));
        tell("at ", timers_[to]->expiry().time_since_epoch().count());
        renew(from);  // Asio leaves it without an executor
    }
    void moveAssign(std::size_t to, std::size_t from) {
        if (to == from) return;
        *timers_[to] = std::move(*timers_[from]);
        renew(from);
    }
    void renew(std::size_t i) {
        timers_[i].reset();
        timers_[i].emplace(context_);
    }
    /// True if a wait that begins now completes at once.
    bool isDue(std::size_t i) const { return timers_[i]->expiry() <= Timer::clock_type::now(); }
    /// `number` says how: with which executor, and what its handler does.
    void wait(std::size_t i, std::uint64_t number) {
        if (timers_[i]->expiry() == TimePoint{}) return;  // has none, and two may have none
        Handler handler{this, number};
#if TIMINGWHEEL_ASIO_VERSION >= 102000
        if (number % 5 == 0) {
            return timers_[i]->async_wait(
                net::bind_cancellation_slot(signals_[i].slot(), std::move(handler)));
        }
#endif
        if (number % 3 == 0)
            timers_[i]->async_wait(net::bind_executor(strand_, std::move(handler)));
        else
            timers_[i]->async_wait(std::move(handler));
    }
    /// Cancels the wait that was the last to take this slot.
    void emit([[maybe_unused]] std::size_t i) {
#if TIMINGWHEEL_ASIO_VERSION >= 102000
        signals_[i].emit(net::cancellation_type::total);
#endif
    }
    void poll(bool one) {
        kept_.settle();
        for (bool again = true; again;) {
            context_.restart();
            try {
                tell("poll ", one ? context_.poll_one() : context_.poll());
                again = false;
            } catch (Thrown) {
                tell("thrown ", 0);
            }
            tell("stopped ", context_.stopped());
        }
    }

private:
    class Handler {
    public:
        using allocator_type = CountingAllocator<int>;
        Handler(World* world, std::uint64_t number)
            : world_{world},
              number_{number},
              token_{&world->log_, [](Log* log) { ++log->destroyed; }} {}
        allocator_type get_allocator() const noexcept { return allocator_type{world_->log_}; }

        template <class Error>
        void operator()(Error error) {
            World& world = *world_;
            world.tell("wait ", number_);
            world.tell("code ", error.value());
            std::size_t const other = number_ / 7 % kTimers;
            switch (number_ / 64 % 8) {
                case 0:
                    return world.cancel(other);
                case 1:
                    return world.cancelOne(other);
                case 2:
                    if (!world.isDue(other)) world.wait(other, number_ / 512);
                    return;
                case 3:
                    return world.renew(other);
                case 4:
                    throw Thrown{};
                default:
                    return;
            }
        }

    private:
        World* world_;
        std::uint64_t number_;
        std::shared_ptr<Log> token_;
    };

    template <class Value>
    void tell(char const* what, Value value) {
        log_.text << what << value << '\n';
    }

    Log& log_;
    net::io_context context_;
    KeptBy<Timer> kept_{context_};
    net::strand<net::io_context::executor_type> strand_{context_.get_executor()};
#if TIMINGWHEEL_ASIO_VERSION >= 102000
    std::array<net::cancellation_signal, kTimers> signals_;
#endif
    std::array<std::optional<Timer>, kTimers> timers_;
};

/// A random course, the same for both: deadlines are whole ticks, and no two are the same. Without
/// `pollsOne` a poll always takes all: what is due is then in the context of both.
template <class Timer>
std::string course(std::uint64_t seed, bool pollsOne = true) {
    using Clock = typename Timer::clock_type;
    using TimePoint = typename Timer::time_point;
    std::mt19937_64 random{seed};
    auto const below = [&](std::uint64_t n) { return random() % n; };
    TimePoint& time = HandClock<Clock::is_steady>::time;
    time = TimePoint{std::chrono::milliseconds{static_cast<int>(below(2'000)) - 1'000}};
    std::set<TimePoint> used;
    auto const unusedDelay = [&] {
        std::uint64_t const longest = std::uint64_t{1} << below(16);
        for (;;) {
            std::chrono::milliseconds const delay{1 + below(longest + used.size())};
            if (used.insert(time + delay).second) return delay;
        }
    };
    Log log;
    {
        World<Timer> world{log};
        for (int step = 0; step < 120; ++step) {
            std::size_t const timer = below(World<Timer>::kTimers);
            switch (below(18)) {
                case 0:
                    world.cancel(timer);
                    break;
                case 1:
                    world.cancelOne(timer);
                    break;
                case 2:
                    world.moveConstruct(timer, below(World<Timer>::kTimers));
                    break;
                case 3:
                    world.moveAssign(timer, below(World<Timer>::kTimers));
                    break;
                case 4:
                    world.renew(timer);
                    break;
                case 5:  // at once, or never
                    world.expiresAt(timer, below(2) == 0 ? (TimePoint::min)() : (TimePoint::max)());
                    world.wait(timer, random());
                    world.poll(false);
                    break;
                case 16:
                case 17:
                    world.emit(timer);
                    break;
                case 6:
                    world.expiresAt(timer, time + unusedDelay());
                    [[fallthrough]];
                case 7:
                    world.wait(timer, random());
                    if (world.isDue(timer)) world.poll(false);
                    break;
                case 8:
                case 9:
                case 10:
                case 11:
                    world.expiresAfter(timer, unusedDelay());
                    for (std::uint64_t waits = 1 + below(3); waits > 0; --waits)
                        world.wait(timer, random());
                    break;
                default:
                    time += std::chrono::milliseconds{below(std::uint64_t{1} << below(14))};
                    if (!Clock::is_steady && below(8) == 0) time -= 10s;
                    world.poll(below(4) == 0 && pollsOne);
            }
        }
    }
    log.text << "allocated " << log.allocated << " freed " << log.freed << " destroyed "
             << log.destroyed << '\n';
    EXPECT_EQ(log.allocated, log.freed);
    return std::move(log.text).str();
}

}  // namespace timingwheel::test
