// Waits that a context keeps in a SystemTimer: whoever comes when, the context gets each once, and
// nothing touches it when it has ended. A reactor stands for Asio's that has no more than its lock.

#include "Trial.h"

#include <timingwheel/SystemTimer.h>
#include <timingwheel/asio/detail/SharedQueue.h>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

// Shows G30.

namespace timingwheel::test::simulation {
namespace {

struct Operation {
    Operation* next = nullptr;
};

/// As Asio's: the operations hold together by themselves.
template <class T>
class OperationQueue {
public:
    T* front() const { return static_cast<T*>(front_); }
    bool empty() const { return front_ == nullptr; }
    void pop() {
        Operation* const first = front_;
        front_ = first->next;
        if (front_ == nullptr) back_ = nullptr;
        first->next = nullptr;
    }
    void push(T* operation) {
        (back_ != nullptr ? back_->next : front_) = operation;
        back_ = operation;
    }
    template <class U>
    void push(OperationQueue<U>& others) {
        while (U* const each = others.front()) {
            others.pop();
            push(each);
        }
    }

private:
    Operation* front_ = nullptr;
    Operation* back_ = nullptr;
};

/// The part of Asio's inside that a queue uses.
struct Net {
    struct Wait : Operation {
        void* cancellation_key_ = nullptr;
        Clock::TimePoint due;
        bool isAborted = false;
    };
    using Operation = simulation::Operation;
    template <class T>
    using OperationQueue = simulation::OperationQueue<T>;

    struct QueueBase {
        virtual ~QueueBase() = default;
        virtual bool empty() const = 0;
        virtual long wait_duration_msec(long) const = 0;
        virtual long wait_duration_usec(long) const = 0;
        virtual void get_ready_timers(OperationQueue<Operation>&) = 0;
        virtual void get_all_timers(OperationQueue<Operation>&) = 0;
    };

    /// Calls with its lock held, and hands over.
    struct Scheduler {
        template <class Queue>
        void schedule_timer(Queue& queue, Clock::TimePoint time,
                            typename Queue::per_timer_data& timer, Wait& wait) {
            std::lock_guard const lock{mutex};
            wait.due = time;
            queue.enqueue_timer(time, timer, &wait);
        }
        template <class Queue>
        std::size_t cancel_timer(Queue& queue, typename Queue::per_timer_data& timer,
                                 std::size_t most = 9) {
            std::lock_guard const lock{mutex};
            OperationQueue<Operation> ended;
            std::size_t const count = queue.cancel_timer(timer, ended, most);
            while (auto* const wait = static_cast<Wait*>(ended.front())) {
                ended.pop();
                require(wait->isAborted || wait->due <= Clock::steady().now(), "a wait is early");
                handedOver.push(wait);
            }
            return count;
        }
        template <class Queue>
        void move_timer(Queue& queue, typename Queue::per_timer_data& target,
                        typename Queue::per_timer_data& source) {
            std::lock_guard const lock{mutex};
            queue.move_timer(target, source);
        }

        std::mutex mutex;
        OperationQueue<Operation> handedOver;
    };

    static void abort(Wait& wait) { wait.isAborted = true; }
};

struct Traits {
    using time_type = Clock::TimePoint;
    using duration_type = Clock::TimePoint::duration;
};

class Queue : public asio::detail::SharedQueue<Net, Traits, Queue> {};

Clock::TimePoint in(milliseconds delay) { return Clock::steady().now() + delay; }

/// A context whose waits a SystemTimer keeps.
class Context {
public:
    using Timer = Queue::per_timer_data;

    explicit Context(SystemTimer& timer) {
        using Given = asio::detail::GivenTimer<Net>;
        Given const given{timer, reactor_};
        Given::now = &given;
        queue_ = std::make_unique<Queue>();
        Given::now = nullptr;
    }

    void wait(Timer& timer, Clock::TimePoint time, std::size_t which) {
        reactor_.schedule_timer(*queue_, time, timer, waits_[which]);
    }
    std::size_t cancel(Timer& timer) { return reactor_.cancel_timer(*queue_, timer); }
    void move(Timer& target, Timer& source) { reactor_.move_timer(*queue_, target, source); }

    struct Ends {
        std::size_t reached = 0;
        std::size_t aborted = 0;
    };
    /// What was handed over by now, since the last time.
    Ends ends() {
        std::lock_guard const lock{reactor_.mutex};
        Ends sum;
        while (Operation* const each = reactor_.handedOver.front()) {
            reactor_.handedOver.pop();
            ++(static_cast<Net::Wait*>(each)->isAborted ? sum.aborted : sum.reached);
        }
        return sum;
    }
    /// Returns how many waits it still had.
    std::size_t end() {
        OperationQueue<Operation> all;
        queue_->get_all_timers(all);
        std::size_t count = 0;
        for (; !all.empty(); all.pop()) ++count;
        return count;
    }

private:
    Net::Scheduler reactor_;
    std::array<Net::Wait, 4> waits_;
    std::unique_ptr<Queue> queue_;
};

struct World {
    void expect(std::size_t waits, std::size_t cancelled) {
        auto const ends = context.ends();
        require(ends.aborted == cancelled, "cancel() told something else");
        require(ends.reached + ends.aborted == waits, "a wait did not end, or ended twice");
        require(timer.pendingTimeouts() == 0, "something is pending");
    }

    SystemTimer timer{smallOptions<SystemTimer>()};
    Context context{timer};
    Context::Timer one;
    Context::Timer other;
};

TEST(SharedQueueInterleavings, ACancelAndTheExpiryHaveOneWinner) {
    expectAll("G30", "interleavings of a cancel and an expiry in which a wait ends not once", [] {
        World world;
        auto const expiry = in(milliseconds{1});
        world.context.wait(world.one, expiry, 0);
        world.context.wait(world.one, expiry, 1);
        std::size_t cancelled = 0;
        std::thread canceller{[&] {
            std::this_thread::sleep_for(milliseconds{2});
            cancelled = world.context.cancel(world.one);
        }};
        std::this_thread::sleep_for(milliseconds{3});
        canceller.join();
        cancelled += world.context.cancel(world.one);  // whose expiry may still be on its way
        world.expect(2, cancelled);
    });
}

// Bug pattern: the expiry of a wait that was cancelled is on its way, and ends the next one early.
TEST(SharedQueueInterleavings, AnExpiryThatComesTooLateEndsNoOtherWait) {
    expectAll("G30", "interleavings in which a wait ends by the expiry of another", [] {
        World world;
        world.context.wait(world.one, in(milliseconds{1}), 0);
        std::size_t cancelled = 0;
        std::thread canceller{[&] {
            std::this_thread::sleep_for(milliseconds{2});
            cancelled += world.context.cancel(world.one);
            world.context.wait(world.one, in(milliseconds{50}), 1);
            world.context.wait(world.other, in(milliseconds{50}), 2);
        }};
        std::this_thread::sleep_for(milliseconds{3});
        canceller.join();
        cancelled += world.context.cancel(world.one) + world.context.cancel(world.other);
        world.expect(3, cancelled);
    });
}

TEST(SharedQueueInterleavings, ATimerMayBeMovedMeanwhile) {
    expectAll("G30", "interleavings of a move and an expiry in which a wait ends not once", [] {
        World world;
        world.context.wait(world.one, in(milliseconds{1}), 0);
        std::thread mover{[&] {
            std::this_thread::sleep_for(milliseconds{2});
            world.context.move(world.other, world.one);
            world.context.wait(world.one, in(milliseconds{50}), 1);
        }};
        std::this_thread::sleep_for(milliseconds{3});
        mover.join();
        std::size_t const cancelled =
            world.context.cancel(world.one) + world.context.cancel(world.other);
        world.expect(2, cancelled);
    });
}

TEST(SharedQueueInterleavings, TheContextMayEndMeanwhile) {
    expectAll("G30", "interleavings of an expiry and a context's end in which a wait is lost", [] {
        SystemTimer timer{smallOptions<SystemTimer>()};
        {
            auto const context = std::make_unique<Context>(timer);
            Context::Timer one;
            Context::Timer other;
            context->wait(one, in(milliseconds{1}), 0);
            context->wait(other, in(milliseconds{1}), 1);
            std::this_thread::sleep_for(milliseconds{1});
            std::size_t const left = context->end();
            require(context->ends().reached + left == 2, "a wait was lost, or handed over twice");
        }
        require(timer.pendingTimeouts() == 0, "something is pending");
    });
}

TEST(SharedQueueInterleavings, TheTimerMayStopMeanwhile) {
    expectAll("G30",
              "interleavings of stop(), a cancel and an expiry in which a wait ends not once", [] {
                  World world;
                  world.context.wait(world.one, in(milliseconds{1}), 0);
                  world.context.wait(world.other, in(milliseconds{50}), 1);
                  std::thread canceller{[&] { world.context.cancel(world.other); }};
                  std::this_thread::sleep_for(milliseconds{1});
                  static_cast<void>(world.timer.stop());
                  canceller.join();
                  auto const ends = world.context.ends();
                  require(ends.reached + ends.aborted == 2, "a wait did not end, or ended twice");
              });
}

}  // namespace
}  // namespace timingwheel::test::simulation
