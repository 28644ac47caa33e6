// Tasks are handed to an executor as claims: what becomes of them when it does odd things.

#include <support/CountOfEach.h>
#include <support/Effort.h>
#include <support/Executors.h>
#include <support/TestTimers.h>
#include <support/Threads.h>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

/// Does one odd thing with the k-th claim, and runs every other one at once.
class OddExecutor {
public:
    enum class Oddity { throws, throwsAnInt, drops, copies, copiesAndDropsBoth, runsThenThrows };

    OddExecutor(int kth, Oddity oddity) : kth_{kth}, oddity_{oddity} {}

    void execute(Claim claim) {
        if (++count_ != kth_) return claim();
        switch (oddity_) {
            case Oddity::throws:
                throw std::runtime_error{"full at " + std::to_string(kth_)};
            case Oddity::throwsAnInt:
                throw kth_;
            case Oddity::drops:
                return;
            case Oddity::copies: {
                Claim copy = claim;
                claim();
                copy();
                return;
            }
            case Oddity::copiesAndDropsBoth: {
                Claim const copy = claim;
                return;
            }
            case Oddity::runsThenThrows:
                claim();
                throw std::runtime_error{"too late to refuse"};
        }
    }

private:
    int kth_;
    Oddity oddity_;
    int count_ = 0;
};

/// What came of 100 tasks when something odd happened to the k-th.
struct Outcome {
    std::size_t ranOnce = 0;
    std::size_t ranOtherwise = 0;
    int rejected = 0;
    std::size_t alive = 0;
    std::vector<FailureLog::Entry> failures;
    TimerStatistics statistics;
};

Outcome runHundred(int kth, OddExecutor::Oddity oddity) {
    ManualClock clock;
    OddExecutor executor{kth, oddity};
    FailureLog failures;
    Outcome outcome;
    auto const witness = std::make_shared<int>();
    CountOfEach runs{100};
    {
        SystemTimer timer{
            {.clock = clock, .executor = executor, .errorHandler = failures.handler()}};
        std::vector<Timeout> timeouts;
        for (std::size_t i = 0; i < runs.size(); ++i)
            timeouts.push_back(
                timer.newTimeout([&runs, i, witness] { runs.count(i); }, (1 + i / 10) * 1ms));
        clock.advance(10ms);
        for (std::size_t i = 0; i < runs.size(); ++i) {
            Timeout const& timeout = timeouts[i];
            EXPECT_NE(timeout.isRejected(), timeout.isExpired());
            EXPECT_EQ(runs.of(i), timeout.isExpired() ? 1 : 0);
            ++(runs.of(i) == 1 ? outcome.ranOnce : outcome.ranOtherwise);
            EXPECT_FALSE(timeout.isPending());
            EXPECT_FALSE(timeout.cancel());
            if (timeout.isRejected()) ++outcome.rejected;
        }
        outcome.alive = static_cast<std::size_t>(witness.use_count()) - 1;
        outcome.statistics = timer.statistics();
        timer.checkInvariants();
    }
    outcome.failures = failures.entries();
    return outcome;
}

// G19
TEST(Dispatch, AnExecutorThatRefusesTheKthAffectsOnlyThatTask) {
    using Oddity = OddExecutor::Oddity;
    std::size_t affected = 0;
    std::size_t ran = 0;
    for (Oddity const oddity :
         {Oddity::throws, Oddity::throwsAnInt, Oddity::drops, Oddity::copiesAndDropsBoth}) {
        for (int kth = 1; kth <= 100; ++kth) {
            SCOPED_TRACE(testing::Message()
                         << "oddity " << static_cast<int>(oddity) << " at " << kth);
            Outcome const outcome = runHundred(kth, oddity);
            EXPECT_EQ(outcome.ranOnce, 99U);
            EXPECT_EQ(outcome.rejected, 1);
            EXPECT_EQ(outcome.alive, 0U);
            EXPECT_EQ(outcome.statistics.rejected, 1U);
            EXPECT_EQ(outcome.statistics.fired, 99U);
            EXPECT_EQ(outcome.statistics.pending, 0U);
            ASSERT_EQ(outcome.failures.size(), 1U);
            EXPECT_EQ(outcome.failures[0].kind, TaskFailure::Kind::rejected);
            EXPECT_TRUE(outcome.failures[0].timeout.isRejected());
            std::string const expected = oddity == Oddity::throws ? "full at " + std::to_string(kth)
                                         : oddity == Oddity::throwsAnInt
                                             ? "int " + std::to_string(kth)
                                             : "";
            EXPECT_EQ(outcome.failures[0].what, expected);
            affected += outcome.failures.size();
            ran += outcome.ranOnce;
        }
    }
    figure("G19", "rejected and reported, where the k-th of 100 is refused in 4 ways, k = 1 to 100",
           affected, exactly(400));
    figure("G19", "the others that ran once", ran, exactly(400 * 99));
}

// G19
TEST(Dispatch, AClaimThatWasCopiedOrRunBeforeTheThrowIsNoRejection) {
    using Oddity = OddExecutor::Oddity;
    for (Oddity const oddity : {Oddity::copies, Oddity::runsThenThrows}) {
        for (int kth = 1; kth <= 100; ++kth) {
            SCOPED_TRACE(testing::Message()
                         << "oddity " << static_cast<int>(oddity) << " at " << kth);
            Outcome const outcome = runHundred(kth, oddity);
            EXPECT_EQ(outcome.ranOnce, 100U);
            EXPECT_EQ(outcome.rejected, 0);
            if (oddity == Oddity::copies) {
                EXPECT_EQ(outcome.failures.size(), 0U);
            } else {
                ASSERT_EQ(outcome.failures.size(), 1U);
                EXPECT_EQ(outcome.failures.front().kind, TaskFailure::Kind::executorThrew);
            }
        }
    }
}

// G19: the task has a claim left.
TEST(Dispatch, ACopyOfAClaimThatDiesAloneRejectsNobody) {
    struct Copying {
        void execute(Claim claim) {
            { Claim const copy{claim}; }
            claim();
        }
    };
    ManualClock clock;
    Copying executor;
    FailureLog failures;
    SystemTimer timer{{.clock = clock, .executor = executor, .errorHandler = failures.handler()}};
    bool ran = false;
    timer.newTimeout([&ran] { ran = true; }, 1ms);
    clock.advance(1ms);
    EXPECT_TRUE(ran);
    EXPECT_EQ(failures.count(), 0U);
}

// G19: not one that it took before.
TEST(Dispatch, AnExecutorThatIsFullRejectsTheTaskThatItIsGiven) {
    struct Full {
        void execute(Claim claim) {
            if (held.size() == 2) throw std::runtime_error{"full"};
            held.execute(std::move(claim));
        }
        HoldingExecutor held;
    };
    Watchdog const watchdog{"an executor that has room for two"};
    Full executor;
    FailureLog failures;
    SystemTimer timer{{.executor = executor, .errorHandler = failures.handler()}};
    std::vector<Timeout> timeouts;
    for (std::size_t i = 1; i <= 2; ++i) {
        timeouts.push_back(timer.newTimeout([] {}, 0ms));
        executor.held.waitFor(i);
    }
    Timeout const third = timer.newTimeout([] {}, 0ms);
    waitUntil([&failures] { return failures.count() == 1; });
    EXPECT_TRUE(third.isRejected());
    for (Timeout const& timeout : timeouts) EXPECT_TRUE(timeout.isPending());
    EXPECT_EQ(timer.stop().size(), 2U);
}

// G19: each of several claims that die inside one execute().
TEST(Dispatch, AnExecutorThatClearsItsQueueRejectsEachTask) {
    struct Clearing {
        std::vector<Claim> claims;
        void execute(Claim claim) {
            claims.push_back(std::move(claim));
            if (claims.size() == 3) claims.clear();
        }
    };
    ManualClock clock;
    Clearing executor;
    FailureLog failures;
    auto const witness = std::make_shared<int>();
    SystemTimer timer{{.clock = clock, .executor = executor, .errorHandler = failures.handler()}};
    std::vector<Timeout> timeouts;
    for (int i = 0; i < 3; ++i) timeouts.push_back(timer.newTimeout([witness] {}, 1ms));
    clock.advance(1ms);
    for (Timeout const& timeout : timeouts) EXPECT_TRUE(timeout.isRejected());
    EXPECT_EQ(failures.count(TaskFailure::Kind::rejected), 3U);
    std::set<Timeout> reported;
    for (FailureLog::Entry const& entry : failures.entries()) reported.insert(entry.timeout);
    EXPECT_EQ(reported, (std::set<Timeout>{timeouts.begin(), timeouts.end()}));
    EXPECT_EQ(witness.use_count(), 1);
}

// G19. Bug pattern: the exception is taken for the rejection of whatever claim dies before it.
TEST(Dispatch, AnExecutorThatDropsAnotherTimersClaimRejectsThatOne) {
    struct DroppingTheOldest {
        void execute(Claim claim) {
            std::lock_guard const lock{mutex};
            claims.push_back(std::move(claim));
            if (claims.size() == 2) claims.erase(claims.begin());
            ++executed;
        }
        std::mutex mutex;
        std::vector<Claim> claims;
        std::atomic<int> executed{0};
    };
    SettableClock clock;
    DroppingTheOldest executor;
    FailureLog failures;
    SystemTimer first{{.clock = clock, .executor = executor, .errorHandler = failures.handler()}};
    SystemTimer second{{.clock = clock, .executor = executor}};
    Timeout const dropped = first.newTimeout([] {}, 0ms);
    while (executor.executed != 1) std::this_thread::yield();
    bool ran = false;
    second.newTimeout([&] { ran = true; }, 0ms);
    while (executor.executed != 2) std::this_thread::yield();
    EXPECT_TRUE(dropped.isRejected());
    EXPECT_EQ(failures.count(TaskFailure::Kind::rejected), 1U);
    executor.claims.front()();
    EXPECT_TRUE(ran);
}

TEST(Dispatch, AnExecutorThatRunsWithinExecuteRunsEverythingOnce) {
    ManualClock clock;
    SynchronousExecutor executor;
    SystemTimer timer{{.clock = clock, .executor = executor}};
    CountOfEach runs{100};
    CountOfEach chained{100};
    for (std::size_t i = 0; i < 100; ++i) {
        timer.newTimeout(
            [&, i] {
                runs.count(i);
                EXPECT_THROW(clock.advance(1ms), std::logic_error);
                EXPECT_THROW(static_cast<void>(timer.stop()), std::logic_error);
                timer.newTimeout([&, i] { chained.count(i); }, 1ms);
            },
            i * 1ms);
    }
    clock.advance(200ms);
    EXPECT_EQ(runs.otherThan(1), 0U);
    EXPECT_EQ(chained.otherThan(1), 0U);
}

// With an executor a task runs somewhere else; advance waits for it.
TEST(Dispatch, AdvanceWaitsForTasksOnAnExecutor) {
    ManualClock clock;
    ThreadExecutor executor;
    SystemTimer timer{{.clock = clock, .executor = executor}};
    std::atomic<int> runs{0};
    std::thread::id where;
    for (int i = 0; i < 1000; ++i) {
        timer.newTimeout(
            [&] {
                where = std::this_thread::get_id();
                ++runs;
            },
            (i % 50) * 1ms);
    }
    clock.advance(50ms);
    EXPECT_EQ(runs, 1000);
    EXPECT_NE(where, std::this_thread::get_id());
}

/// Anything with get_executor() is one too, as Boost.Asio's contexts are.
struct Context {
    SynchronousExecutor& get_executor() { return executor; }
    SynchronousExecutor executor;
};

TEST(Dispatch, TakesAContextForItsExecutor) {
    ManualClock clock;
    Context context;
    SystemTimer timer{{.clock = clock, .executor = context}};
    int runs = 0;
    timer.newTimeout([&] { ++runs; }, 1ms);
    clock.advance(1ms);
    EXPECT_EQ(runs, 1);
}

/// One that does not change: what it runs on stands elsewhere.
struct ConstExecutor {
    void execute(Claim claim) const { claim(); }
};
struct ConstContext {
    ConstExecutor get_executor() const { return {}; }
};

// Bug pattern: an executor that dies at once is referred to.
static_assert(!std::is_constructible_v<Executor, SynchronousExecutor>);
static_assert(!std::is_constructible_v<Executor, ConstExecutor>);
static_assert(!std::is_constructible_v<Executor, ConstExecutor const>);
static_assert(!std::is_constructible_v<Executor, Context>);
static_assert(!std::is_constructible_v<Executor, ConstContext const>);
static_assert(!std::is_constructible_v<Executor, SynchronousExecutor const&>);
static_assert(std::is_convertible_v<SynchronousExecutor&, Executor>);
static_assert(std::is_convertible_v<ConstExecutor const&, Executor>);
static_assert(std::is_convertible_v<ConstContext const&, Executor>);
static_assert(std::is_copy_constructible_v<Executor>);

TEST(Dispatch, TakesConstExecutorsThatExecuteWhenTheyAreConst) {
    ManualClock clock;
    ConstExecutor const executor;
    ConstContext const context;
    SystemTimer a{{.clock = clock, .executor = executor}};
    SystemTimer b{{.clock = clock, .executor = context}};
    int runs = 0;
    a.newTimeout([&] { ++runs; }, 1ms);
    b.newTimeout([&] { ++runs; }, 2ms);
    clock.advance(2ms);
    EXPECT_EQ(runs, 2);
}

}  // namespace
}  // namespace timingwheel::test
