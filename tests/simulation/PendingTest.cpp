// pending() among other threads: what stays is shown exactly once, whoever comes when.

#include "Trial.h"

#include <timingwheel/PendingTimeout.h>
#include <timingwheel/tagged.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>

// Shows G32.

namespace timingwheel::test::simulation {
namespace {

/// How often a timeout is shown.
std::size_t timesShown(Timer const& timer, Timeout const& timeout) {
    std::size_t times = 0;
    timer.pending([&](PendingTimeout const& shown) {
        if (shown.timeout == timeout) ++times;
    });
    return times;
}

TEST(PendingInterleavings, WhatTheDriverMovesMeanwhileIsShownOnce) {
    expectAll("G32", "interleavings of pending() and the driver that miss a timeout", [] {
        auto timer = std::make_unique<SystemTimer>(smallOptions<SystemTimer>());
        Timeout const runs = timer->newTimeout([] {}, milliseconds{2});
        Timeout const stays = timer->newTimeout([] {}, milliseconds{2});
        // It stays in its bucket until that expires, and goes to a coarser one then.
        if (!timer->reschedule(stays, milliseconds{40})) return;  // it has run
        std::thread other{[&] { runs.cancel(); }};
        std::this_thread::sleep_for(milliseconds{1});
        require(timesShown(*timer, stays) == 1, "it is not shown once");
        other.join();
        require(timer->stop().size() >= 1, "it is not pending any more");
    });
}

TEST(PendingInterleavings, WhatWaitsInTheDriversChunkIsShownOnce) {
    expectAll("G32", "interleavings of pending() and a driver with a chunk that miss a timeout",
              [] {
                  auto timer = std::make_unique<SystemTimer>(smallOptions<SystemTimer>());
                  std::array<Timeout, 3> timeouts;
                  std::array<std::atomic<bool>, 3> ran{};
                  for (std::size_t i = 0; i < 3; ++i)
                      timeouts[i] = timer->newTimeout([&, i] { ran[i] = true; }, milliseconds{1});
                  std::this_thread::sleep_for(milliseconds{1});
                  for (Timeout const& timeout : timeouts) {
                      std::size_t const times = timesShown(*timer, timeout);
                      require(times <= 1, "it is shown twice");
                      // The driver has claimed it, and says so. If not, a cancel wins.
                      require(times == 1 || !timeout.isPending(), "it is pending and not shown");
                      require(times == 1 || !timeout.cancel(), "it is not shown");
                  }
                  std::size_t ended = timer->stop().size();
                  for (auto const& each : ran)
                      if (each) ++ended;
                  require(ended == 3, "one was lost, or ran twice");
              });
}

TEST(PendingInterleavings, WhatAFlatTimersWorkerTakesInMeanwhileIsShownOnce) {
    expectAll("G32", "interleavings of pending() and a flat timer's worker that miss a timeout",
              [] {
                  auto timer = std::make_unique<HashedWheelTimer>(smallOptions<HashedWheelTimer>());
                  Timeout const stays = timer->newTimeout([] {}, milliseconds{9});
                  // Its task is destroyed by who cancels it, and its tag read by who looks.
                  auto const owned = std::make_shared<int>(1);
                  Timeout const goes =
                      timer->newTimeout(tagged(owned.get(), [owned] {}), milliseconds{9});
                  std::thread other{[&] { goes.cancelAndWait(); }};
                  require(timesShown(*timer, stays) == 1, "it is not shown once");
                  other.join();
                  require(owned.use_count() == 1, "a task was not destroyed");
                  require(timer->stop().size() == 1, "it is not pending any more");
              });
}

// Bug pattern: a thread counts the handles, then learns that the driver's reference was given up:
// by one that was made in between.
TEST(PendingInterleavings, TheLastHandleMayGoWhileWhatIsShownCancels) {
    expectAll("G11", "interleavings of the last handle and a shown one that cancels", [] {
        auto timer = std::make_unique<SystemTimer>(smallOptions<SystemTimer>());
        std::atomic<std::size_t> runs = 0;
        Timeout last = timer->newTimeout([&runs] { ++runs; }, milliseconds{9});
        std::size_t cancelled = 0;
        std::thread other{[&] {
            timer->pending([&](PendingTimeout const& shown) {
                if (shown.timeout.cancel()) ++cancelled;
            });
        }};
        last = {};
        other.join();
        std::size_t const stopped = timer->stop().size();
        require(cancelled + stopped + runs == 1, "it did not end once");
    });
}

}  // namespace
}  // namespace timingwheel::test::simulation
