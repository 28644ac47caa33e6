// Shares of a keeper that come back while its timer goes.

#include "Trial.h"
#include "core/driver/lock/DroppedShares.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace timingwheel::test::simulation {
namespace {

using detail::DroppedShares;

/// Whoever gives the last share back frees it, as a keeper is freed.
class Shared {
public:
    Shared() { shares_->favourThisThread(); }

    void drop() { freeIf(shares_->drop(1)); }
    void orphan(int made) { freeIf(shares_->orphan(made)); }
    int freed() const { return freed_; }

private:
    void freeIf(bool isLast) {
        if (!isLast) return;
        ++freed_;
        delete shares_;
    }

    DroppedShares* const shares_ = new DroppedShares;  // on the heap, which is watched
    std::atomic<int> freed_{0};
};

// Bug pattern: the favourite's share is still on its way when the timer counts what is left.
TEST(DroppedSharesInterleavings, TheLastOneFreesTheKeeperOnce) {
    expectAll("G11", "interleavings of the last shares with a keeper freed early, or never", [] {
        Shared shared;
        std::thread other{[&] { shared.drop(); }};
        std::thread owner{[&] { shared.orphan(3); }};
        shared.drop();
        shared.drop();
        other.join();
        owner.join();
        require(shared.freed() == 1, "it was not freed once");
    });
}

}  // namespace
}  // namespace timingwheel::test::simulation
