// A driver that enters what is due without the lock, and those who want it back.

#include "Trial.h"
#include "core/driver/Shard.h"
#include "core/timeout/TimeoutNode.h"
#include "core/timeout/TimeoutWord.h"

#include <support/LoneContext.h>
#include <timingwheel/ManualClock.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

namespace timingwheel::test::simulation {
namespace {

using namespace timingwheel::detail;

/// Some timeouts of a shard that are due together: they are in one chunk, and the driver enters one
/// after another without the lock.
class Due {
public:
    static constexpr Tick kDue{1};
    static constexpr Tick kLater{2};

    /// A user's object with a hook, which touches its members in its task.
    class Beat {
    public:
        explicit Beat(Due& due) : due_{due} { due_.schedule(*this, kDue); }
        ~Beat() {
            due_.shard_.forget(entry);
            due_.shard_.dropShares();
        }
        int runs() const { return runs_; }

    private:
        static HookOperations const kOperations;
        Due& due_;
        int runs_ = 0;

    public:
        HookEntry entry{kOperations, this};
    };

    Due() { shard_.open(); }
    ~Due() {
        StoppedTimeouts stopped;
        shard_.close(stopped);
        shard_.collectLate(stopped);
    }

    template <class Task>
    Timeout node(Task task, Periodicity const* periodicity = nullptr) {
        TimeoutNode* const made = TimeoutNode::create({&kTaskOperations<Task>, &task}, periodicity);
        Timeout handle = TimeoutAccess::adopt(*made);
        static_cast<void>(shard_.schedule(*made, kDue, kDue, clock_.now()));
        return handle;
    }
    void schedule(Beat& beat, Tick deadline) {
        HookEntry* const entry = &beat.entry;
        static_cast<void>(shard_.schedule({&entry, 1}, deadline, clock_.now()));
    }
    void serve(Tick tick) {
        RunFrame frame{*context_};
        while (shard_.serve(tick, frame, 10).moved > 0) {
        }
    }
    TimerStatistics statistics() {
        TimerStatistics read;
        shard_.readInto(read);
        read.rescheduled += context_->pushedBack.sum();
        return read;
    }
    Shard& shard() { return shard_; }

private:
    ManualClock clock_{Clock::TimePoint{}};
    LoneContext::Pointer context_ =
        LoneContext::make(TimerOptions{.tick = milliseconds{1}, .wheelSize = 4, .clock = clock_});
    Shard shard_{*context_, 0};
};

HookOperations const Due::Beat::kOperations{{.isHook = true},
                                            [](void* beat) { ++static_cast<Beat*>(beat)->runs_; }};

// G4
TEST(ChunkInterleavings, AScheduleMovesAHookOrRevivesIt) {
    expectAll("G4", "interleavings of a schedule and a chunk with a run too many or too few", [] {
        Due due;
        Due::Beat first{due};
        Due::Beat second{due};
        std::thread other{[&] { due.schedule(second, Due::kLater); }};
        due.serve(Due::kDue);
        other.join();
        require(isPending(TimeoutWord::of(second.entry).state()), "the schedule is lost");
        due.serve(Due::kLater);
        std::uint64_t const moved = due.statistics().rescheduled;
        require(second.runs() == (moved == 1 ? 1 : 2), "a run is lost, or comes twice");
        require(first.runs() == 1, "the other one is lost");
    });
}

// G4
TEST(ChunkInterleavings, ACancelTellsTheTruth) {
    expectAll("G4", "interleavings of cancel() and a chunk with two outcomes or none", [] {
        Due due;
        auto const runs = std::make_unique<int>(0);
        Timeout const first = due.node([&runs] { ++*runs; });
        Timeout const second = due.node([&runs] { ++*runs; });
        int cancelled = 0;
        std::thread other{[&] {
            for (Timeout const* const each : {&second, &first}) cancelled += each->cancel() ? 1 : 0;
            require(!first.isPending() && !second.isPending(), "it is pending after a cancel()");
        }};
        due.serve(Due::kDue);
        other.join();
        require(*runs + cancelled == 2, "one has two outcomes, or none");
        TimerStatistics const read = due.statistics();
        require(read.pending == 0 && read.cancelled == static_cast<std::uint64_t>(cancelled) &&
                    read.fired == static_cast<std::uint64_t>(*runs),
                "miscounted");
    });
}

// G5
TEST(ChunkInterleavings, AHooksObjectMayGo) {
    for (bool const isFirst : {true, false}) {
        expectAll("G5", "interleavings of a hook's end and a chunk with memory used again",
                  [isFirst] {
                      Due due;
                      auto first = std::make_unique<Due::Beat>(due);
                      auto second = std::make_unique<Due::Beat>(due);
                      std::thread other{[&] { (isFirst ? first : second).reset(); }};
                      due.serve(Due::kDue);
                      other.join();
                  });
    }
}

// G5
TEST(ChunkInterleavings, AThreadThatWaitsForARunGoesOnBeforeTheNextEnds) {
    expectAll("G5", "interleavings of a wait for a run and a chunk with a hang", [] {
        Due due;
        std::atomic<bool> hasWaited{false};
        Timeout const first = due.node([] {});
        Timeout const second = due.node([&hasWaited] {
            while (!hasWaited) std::this_thread::sleep_for(milliseconds{1});
        });
        std::thread other{[&] {
            static_cast<void>(first.cancelAndWait());
            hasWaited = true;
        }};
        due.serve(Due::kDue);
        other.join();
    });
}

// G5
TEST(ChunkInterleavings, AThreadThatWaitsForAPeriodicRunDoesSo) {
    expectAll("G5", "interleavings of a wait for a periodic run with that still under way", [] {
        Due due;
        Timeout const once = due.node([] {});
        auto const isRunning = std::make_unique<std::atomic<bool>>(false);
        Periodicity const everyTick{.period = milliseconds{1},
                                    .current = Clock::TimePoint{milliseconds{1}},
                                    .scheduled = Due::kDue};
        Timeout const beat = due.node(
            [&isRunning] {
                *isRunning = true;
                *isRunning = false;
            },
            &everyTick);
        std::thread other{[&] {
            static_cast<void>(beat.cancelAndWait());
            require(!*isRunning, "it runs");
        }};
        due.serve(Due::kDue);
        other.join();
    });
}

// G28
TEST(ChunkInterleavings, CancelAllEndsAPeriodicOne) {
    expectAll("G28", "interleavings of cancelAll() and a chunk that leave something pending", [] {
        Due due;
        auto const runs = std::make_unique<int>(0);
        Timeout const once = due.node([&runs] { ++*runs; });
        Periodicity const everyTick{.period = milliseconds{1},
                                    .current = Clock::TimePoint{milliseconds{1}},
                                    .scheduled = Due::kDue};
        Timeout const beat = due.node([&runs] { ++*runs; }, &everyTick);
        std::thread other{[&] {
            TimerTaskList ended;
            due.shard().cancelAll(ended);
            Shard::endAll(ended);
            require(!once.isPending(), "it is pending after a cancelAll()");
        }};
        due.serve(Due::kDue);
        other.join();
        require(*runs <= 2 && due.statistics().pending <= (beat.isPending() ? 1U : 0U),
                "it goes on");
    });
}

}  // namespace
}  // namespace timingwheel::test::simulation
