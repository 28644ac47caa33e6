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

/// One context with some timers, and another for handlers. All that is seen of it goes to a log.
template <class Timer>
class World {
public:
    static constexpr std::size_t kTimers = 6;
    using TimePoint = typename Timer::time_point;

    /// `isOrdered` if what completes in one poll does so in a known order; `mayStop` if handlers
    /// may stop the context.
    World(Log& log, bool isOrdered, bool mayStop)
        : log_{log}, isOrdered_{isOrdered}, mayStop_{mayStop} {
        for (std::size_t i = 0; i < kTimers; ++i) renew(i, i);
    }

    void expiresAt(std::size_t i, TimePoint time) { tell("at ", timers_[i]->expires_at(time)); }
    void expiresAfter(std::size_t i, std::chrono::nanoseconds delay) {
        tell("after ", timers_[i]->expires_after(delay));
    }
    void cancel(std::size_t i) { tell("cancel ", timers_[i]->cancel()); }
    void cancelOne(std::size_t i) { tell("one ", timers_[i]->cancel_one()); }
    void moveConstruct(std::size_t to, std::size_t from) {
        if (to == from) return;
        timers_[to].reset();
        timers_[to].emplace(std::move(*timers_[from]));
        tell("at ", timers_[to]->expiry().time_since_epoch().count());
        renew(from, to);  // Asio leaves it without an executor
    }
    void moveAssign(std::size_t to, std::size_t from) {
        if (to == from) return;
        *timers_[to] = std::move(*timers_[from]);
        renew(from, to);
    }
    /// `number` says on which executor.
    void renew(std::size_t i, std::uint64_t number) {
        timers_[i].reset();
        if (number % 2 == 0)
            timers_[i].emplace(context_);
        else
            timers_[i].emplace(typename Timer::executor_type{strand_});
    }
    /// True if a wait that begins now completes at once.
    bool isDue(std::size_t i) const { return timers_[i]->expiry() <= Timer::clock_type::now(); }
    /// `number` says how: with which executor, and what its handler does.
    void wait(std::size_t i, std::uint64_t number) {
        if (timers_[i]->expiry() == TimePoint{}) return;  // has none, and two may have none
        Handler handler{this, i, number};
#if TIMINGWHEEL_ASIO_VERSION >= 102000
        if (number % 5 == 0) {
            return timers_[i]->async_wait(
                net::bind_cancellation_slot(signals_[i].slot(), std::move(handler)));
        }
#endif
        if (number % 3 == 0)
            timers_[i]->async_wait(net::bind_executor(strand_, std::move(handler)));
        else if (number % 3 == 1)
            timers_[i]->async_wait(
                net::bind_executor(elsewhere_.get_executor(), std::move(handler)));
        else
            timers_[i]->async_wait(std::move(handler));
    }
    /// Cancels the wait that was the last to take this slot.
    void emit([[maybe_unused]] std::size_t i) {
#if TIMINGWHEEL_ASIO_VERSION >= 102000
        signals_[i].emit(net::cancellation_type::total);
#endif
    }
    void stop() { context_.stop(); }

    enum class Polls { all, one, oneThatIsPosted };
    void poll(Polls polls) {
        kept_.settle();
        std::string const before = std::exchange(log_.text, {}).str();
        isStopped_ = false;
        go([&] {
            if (polls == Polls::all) return context_.poll();
            if (polls == Polls::one) return context_.poll_one();
            net::post(context_, [this] { tell("posted ", 0); });
            return context_.run_one();
        });
        tell("stopped ", context_.stopped());
        elsewhere_.restart();
        go([&] { return elsewhere_.poll(); });
        std::string const after = std::exchange(log_.text, {}).str();
        log_.text << before << (isOrdered_ ? after : sorted(after));
    }
    /// Whatever handlers stop.
    void pollAll() {
        do poll(Polls::all);
        while (isStopped_);
    }
    /// Ends all that waits, so that the context runs out of work.
    void end() {
        isEnding_ = true;
        for (std::size_t i = 0; i < kTimers; ++i) cancel(i);
        kept_.settle();
        context_.restart();
        tell("run ", context_.run());
        elsewhere_.restart();
        tell("run ", elsewhere_.run());
    }

private:
    class Handler {
    public:
        using allocator_type = CountingAllocator<int>;
        Handler(World* world, std::size_t timer, std::uint64_t number)
            : world_{world},
              timer_{timer},
              number_{number},
              token_{&world->log_, [](Log* log) { ++log->destroyed; }} {}
        allocator_type get_allocator() const noexcept { return allocator_type{world_->log_}; }

        template <class Error>
        void operator()(Error error) {
            World& world = *world_;
            world.log_.text << "wait " << number_ << " code " << error.value() << '\n';
            if (world.isEnding_) return;
            if (world.isOrdered_) return act(world, number_ / 7 % kTimers);
            if (number_ / 64 % 4 == 0) waitAgain(world, timer_);
        }

    private:
        void act(World& world, std::size_t other) const {
            switch (number_ / 64 % 9) {
                case 0:
                    return world.cancel(other);
                case 1:
                    return world.cancelOne(other);
                case 2:
                    return waitAgain(world, other);
                case 3:
                    return world.renew(other, number_);
                case 4:
                    throw Thrown{};
                case 5:
                    world.isStopped_ = world.mayStop_;
                    return world.isStopped_ ? world.stop() : void();
                default:
                    return;
            }
        }
        void waitAgain(World& world, std::size_t timer) const {
            if (!world.isDue(timer)) world.wait(timer, number_ / 512);
        }

        World* world_;
        std::size_t timer_;
        std::uint64_t number_;
        std::shared_ptr<Log> token_;
    };

    template <class Value>
    void tell(char const* what, Value value) {
        log_.text << what << value << '\n';
    }
    /// Calls a context again while handlers throw.
    template <class Poll>
    void go(Poll&& poll) {
        for (;;) {
            context_.restart();
            try {
                return tell("poll ", poll());
            } catch (Thrown) {
                tell("thrown ", 0);
            }
        }
    }
    static std::string sorted(std::string const& text) {
        std::multiset<std::string> lines;
        std::istringstream in{text};
        for (std::string line; std::getline(in, line);) lines.insert(line + '\n');
        std::string all;
        for (std::string const& line : lines) all += line;
        return all;
    }

    Log& log_;
    bool const isOrdered_;
    bool const mayStop_;
    bool isStopped_ = false;  // by a handler
    bool isEnding_ = false;
    net::io_context elsewhere_;
    net::io_context context_;
    KeptBy<Timer> kept_{context_};
    net::strand<net::io_context::executor_type> strand_{context_.get_executor()};
#if TIMINGWHEEL_ASIO_VERSION >= 102000
    std::array<net::cancellation_signal, kTimers> signals_;
#endif
    std::array<std::optional<Timer>, kTimers> timers_;
};

/// A random course, the same for both timers. The clock stands on ticks, deadlines between them.
///
/// In every other course no two deadlines are in the same tick, and what is due when its wait
/// begins is polled at once: then the order is known. In the others deadlines are often the same
/// and the clock is set before the first poll; what completes in a poll is compared as a set.
///
/// Without `inContext` another thread keeps the waits. Then a poll always takes all, nothing stops,
/// and a wait that is due is polled at once: what is due is then in the context of both.
template <class Timer>
class Course {
public:
    using Clock = typename Timer::clock_type;
    using TimePoint = typename Timer::time_point;

    Course(std::uint64_t seed, bool inContext)
        : random_{seed}, isOrdered_{seed % 2 == 0}, inContext_{inContext} {}

    std::string run() {
        time() = TimePoint{std::chrono::milliseconds{static_cast<int>(below(2'000)) - 1'000}};
        Log log;
        {
            World<Timer> world{log, isOrdered_, inContext_};
            for (int i = 0; i < 120; ++i) step(world, below(World<Timer>::kTimers));
            if (below(2) == 0) world.end();
        }
        log.text << "allocated " << log.allocated << " freed " << log.freed << " destroyed "
                 << log.destroyed << '\n';
        EXPECT_EQ(log.allocated, log.freed);
        return std::move(log.text).str();
    }

private:
    static TimePoint& time() { return HandClock<Clock::is_steady>::time; }
    std::uint64_t below(std::uint64_t n) { return random_() % n; }

    std::chrono::nanoseconds delay() {
        std::chrono::nanoseconds const toTick{below(2) * below(1'000'000)};
        std::uint64_t const longest = std::uint64_t{1} << below(16);
        if (!isOrdered_) return std::chrono::milliseconds{below(1 + longest % 64)} - toTick;
        for (;;) {
            std::chrono::milliseconds const delay{1 + below(longest + used_.size())};
            if (used_.insert(time() + delay).second) return delay - toTick;
        }
    }

    void step(World<Timer>& world, std::size_t timer) {
        switch (below(20)) {
            case 0:
                return world.cancel(timer);
            case 1:
                return world.cancelOne(timer);
            case 2:
                return world.moveConstruct(timer, below(World<Timer>::kTimers));
            case 3:
                return world.moveAssign(timer, below(World<Timer>::kTimers));
            case 4:
                return world.renew(timer, random_());
            case 5:  // at once, or never
                world.expiresAt(timer, below(2) == 0 ? (TimePoint::min)() : (TimePoint::max)());
                return wait(world, timer);
            case 6:
                world.expiresAt(timer, time() + delay());
                [[fallthrough]];
            case 7:
                return wait(world, timer);
            case 8:
            case 9:
            case 10:
            case 11:
                world.expiresAfter(timer, delay());
                for (std::uint64_t waits = 1 + below(3); waits > 0; --waits) wait(world, timer);
                return;
            case 12:
            case 13:
                return world.emit(timer);
            case 14:
                if (isOrdered_ && inContext_) world.stop();
                return;
            default:
                return pass(world);
        }
    }

    void wait(World<Timer>& world, std::size_t timer) {
        bool const pollsNow = (isOrdered_ || !inContext_) && world.isDue(timer);
        if (pollsNow) world.pollAll();  // what was due before
        world.wait(timer, random_());
        if (pollsNow) world.pollAll();
    }

    void pass(World<Timer>& world) {
        using Polls = typename World<Timer>::Polls;
        time() += std::chrono::milliseconds{below(std::uint64_t{1} << below(14))};
        if (!Clock::is_steady && below(8) == 0) time() -= 10s;
        std::uint64_t const how = below(8);
        if (how < 2) return;
        if (!isOrdered_ || !inContext_ || how > 3) return world.poll(Polls::all);
        world.poll(how == 2 ? Polls::one : Polls::oneThatIsPosted);
    }

    std::mt19937_64 random_;
    bool const isOrdered_;
    bool const inContext_;
    std::set<TimePoint> used_;
};

template <class Timer>
std::string course(std::uint64_t seed, bool inContext = true) {
    return Course<Timer>{seed, inContext}.run();
}

}  // namespace timingwheel::test
