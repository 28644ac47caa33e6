#include "BareKeeper.h"
#include "core/driver/keeper/ExecutorClaims.h"

#include <support/Executors.h>
#include <support/LoneContext.h>
#include <support/TestTimers.h>
#include <timingwheel/Executor.h>

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace timingwheel::detail {
namespace {

using namespace timingwheel::test;
using Kind = TaskFailure::Kind;

/// A keeper whose claims go to an executor that keeps them.
class ExecutorClaimsTest : public testing::Test {
protected:
    /// Dispatches a task that adds its number to `ran_`.
    Timeout dispatch(BareKeeper& keeper, int number) {
        auto [node, handle] = nodeWith([this, number] { ran_.push_back(number); });
        Hold hold{keeper};
        ++hold.tasks().pending;
        ExecutorClaims::dispatch(hold, node, TimeoutState::queued);
        return handle;
    }
    Timeout dispatch(int number) { return dispatch(keeper_, number); }

    HoldingExecutor executor_;
    FailureLog failures_;
    LoneContext context_{{.executor = executor_, .errorHandler = failures_.handler()}, true};
    BareKeeper keeper_{context_};
    std::vector<int> ran_;
};

TEST_F(ExecutorClaimsTest, EachRunsTheOldestTask) {
    Timeout const first = dispatch(1);
    Timeout const second = dispatch(2);
    EXPECT_TRUE(first.isPending() && second.isPending());
    ASSERT_EQ(executor_.size(), 2U);
    executor_.take()();
    EXPECT_EQ(ran_, std::vector{1});
    EXPECT_TRUE(first.isDone() && second.isPending());
    EXPECT_EQ(Hold{keeper_}.tasks().pending, 1U);
    executor_.take()();
    EXPECT_EQ(ran_, (std::vector{1, 2}));
    EXPECT_EQ(Hold{keeper_}.tasks().pending, 0U);
    EXPECT_FALSE(context_.hasClaims());
}

TEST_F(ExecutorClaimsTest, OneThatDiesUnrunRejectsTheNewestTask) {
    Timeout const first = dispatch(1);
    Timeout const second = dispatch(2);
    static_cast<void>(executor_.take());
    EXPECT_TRUE(second.isRejected());
    EXPECT_TRUE(first.isPending());
    ASSERT_EQ(failures_.count(), 1U);
    EXPECT_EQ(failures_.entries()[0].kind, Kind::rejected);
    EXPECT_EQ(failures_.entries()[0].timeout, second);
    EXPECT_EQ(Hold{keeper_}.tasks().counters.rejected, 1U);
    EXPECT_EQ(Hold{keeper_}.tasks().pending, 1U);
    executor_.runAll();
    EXPECT_EQ(ran_, std::vector{1});
}

TEST_F(ExecutorClaimsTest, ACopyThatIsLeftRunsTheTask) {
    Timeout const timeout = dispatch(1);
    Claim claim = executor_.take();
    std::optional<Claim> copy{claim};
    copy.reset();
    EXPECT_TRUE(timeout.isPending());
    claim();
    EXPECT_EQ(ran_, std::vector{1});
    EXPECT_EQ(failures_.count(), 0U);
    EXPECT_FALSE(context_.hasClaims());
}

TEST_F(ExecutorClaimsTest, OneWhoseTaskHasLeftDoesNothing) {
    auto [node, handle] = nodeWith([this] { ran_.push_back(1); });
    {
        Hold hold{keeper_};
        ExecutorClaims::dispatch(hold, node, TimeoutState::queued);
        hold.tasks().queue.unlink(node);
    }
    executor_.take()();
    EXPECT_TRUE(ran_.empty());
    EXPECT_EQ(failures_.count(), 0U);
    EXPECT_TRUE(handle.isPending());
    TimeoutWord{Tick{0}, TimeoutState::cancelled}.storeIn(node);
    Keeper::discard(context_, node);
}

// The claim dies before the exception arrives: the task is rejected once, with the exception.
TEST_F(ExecutorClaimsTest, AnExecutorThatThrowsRejectsTheTask) {
    struct Refusing {
        void execute(Claim) { throw std::runtime_error{"no room"}; }
    } refusing;
    LoneContext context{{.executor = refusing, .errorHandler = failures_.handler()}, true};
    BareKeeper keeper{context};
    Timeout const timeout = dispatch(keeper, 1);
    EXPECT_TRUE(timeout.isRejected());
    ASSERT_EQ(failures_.count(), 1U);
    EXPECT_EQ(failures_.entries()[0].kind, Kind::rejected);
    EXPECT_EQ(failures_.entries()[0].what, "no room");
    EXPECT_TRUE(Hold{keeper}.tasks().running.empty());
    EXPECT_FALSE(context.hasClaims());
}

struct Posting {
    friend void post(Posting&, Claim) { throw std::runtime_error{"no room"}; }
};
TEST_F(ExecutorClaimsTest, APostThatThrowsRejectsTheTask) {
    Posting posting;
    LoneContext context{{.executor = posting, .errorHandler = failures_.handler()}, true};
    BareKeeper keeper{context};
    Timeout const timeout = dispatch(keeper, 1);
    EXPECT_TRUE(timeout.isRejected());
    ASSERT_EQ(failures_.count(), 1U);
    EXPECT_EQ(failures_.entries()[0].kind, Kind::rejected);
    EXPECT_EQ(failures_.entries()[0].what, "no room");
    EXPECT_FALSE(context.hasClaims());
}

// It has run the claim before: nothing was rejected.
TEST_F(ExecutorClaimsTest, AnExecutorThatRunsAndThrowsRejectsNothing) {
    struct Nervous {
        void execute(Claim claim) {
            claim();
            throw std::runtime_error{"afterwards"};
        }
    } nervous;
    LoneContext context{{.executor = nervous, .errorHandler = failures_.handler()}, true};
    BareKeeper keeper{context};
    Timeout const timeout = dispatch(keeper, 1);
    EXPECT_TRUE(timeout.isDone());
    ASSERT_EQ(failures_.count(), 1U);
    EXPECT_EQ(failures_.entries()[0].kind, Kind::executorThrew);
    EXPECT_EQ(Hold{keeper}.tasks().counters.rejected, 0U);
}

}  // namespace
}  // namespace timingwheel::detail
