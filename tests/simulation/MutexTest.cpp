// The mutex of a shard, and threads that sleep for it.

#include "Trial.h"
#include "core/driver/lock/Mutex.h"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <thread>

namespace timingwheel::test::simulation {
namespace {

// Bug pattern: a thread falls asleep while the word that the mutex is free is on its way to it, and
// its word that it sleeps is on its way to the one that releases the mutex.
TEST(MutexInterleavings, NoThreadSleepsForAMutexThatIsFree) {
    for (bool const hasBarrier : {true, false})
        expectAll(
            "G31", "interleavings of holders with one inside beside another, or asleep for good",
            [hasBarrier] {
                detail::Mutex mutex{hasBarrier};
                auto const sum = std::make_unique<int>(0);  // on the heap, which is watched
                auto const add = [&] {
                    std::lock_guard const hold{mutex};
                    ++*sum;
                };
                std::thread other{add};
                add();
                other.join();
                require(*sum == 2, "one was inside beside another");
            },
            kAnyNumber);
}

}  // namespace
}  // namespace timingwheel::test::simulation
