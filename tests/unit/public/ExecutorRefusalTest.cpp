// Executors that refuse the k-th of the tasks they are given, or all from it on, in every way that
// there is; and hooks and periodic tasks among those.

#include <support/AnyTimer.h>
#include <support/Executors.h>
#include <support/Figure.h>
#include <support/TestTimers.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/SystemTimer.h>
#include <timingwheel/TimerHook.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

enum class Refusal {
    throws,
    throwsBadAlloc,
    drops,
    copiesAndDropsBoth,
    runsThenThrows,
    keepsThenThrows
};
constexpr std::array kRefusals{Refusal::throws,         Refusal::throwsBadAlloc,
                               Refusal::drops,          Refusal::copiesAndDropsBoth,
                               Refusal::runsThenThrows, Refusal::keepsThenThrows};

constexpr bool isTooLate(Refusal refusal) {
    return refusal == Refusal::runsThenThrows || refusal == Refusal::keepsThenThrows;
}

/// Refuses the k-th, or all from that on, and runs the others at once.
class RefusingExecutor {
public:
    RefusingExecutor(std::size_t kth, bool isForEver, Refusal refusal)
        : kth_{kth}, isForEver_{isForEver}, refusal_{refusal} {}

    void execute(Claim claim) {
        ++given_;
        bool const refuses = given_ == kth_ || (isForEver_ && given_ > kth_);
        if (!refuses) return claim();
        ++refused_;
        switch (refusal_) {
            case Refusal::throws:
                throw std::runtime_error{"full"};
            case Refusal::throwsBadAlloc:
                throw std::bad_alloc{};
            case Refusal::drops:
                return;
            case Refusal::copiesAndDropsBoth: {
                Claim const copy{claim};
                return;
            }
            case Refusal::runsThenThrows:
                claim();
                throw std::runtime_error{"too late to refuse"};
            case Refusal::keepsThenThrows:
                keeper_.execute(std::move(claim));
                throw std::runtime_error{"too late to refuse"};
        }
    }

    std::size_t given() const noexcept { return given_; }
    std::size_t refused() const noexcept { return refused_; }
    void refuseNothingMore() noexcept { kth_ = 0, isForEver_ = false; }

private:
    std::size_t kth_;
    bool isForEver_;
    Refusal const refusal_;
    std::size_t given_ = 0;
    std::size_t refused_ = 0;
    ThreadExecutor keeper_;
};

struct Object {
    void run() { ++runs; }
    std::atomic<int> runs{0};
    TimerHook<&Object::run> hook{*this};
};

/// Tasks of all kinds that go to such an executor.
template <class T>
class Refused {
public:
    static constexpr bool kIsFlat = std::is_same_v<T, HashedWheelTimer>;
    static constexpr std::size_t kTasks = 12;
    /// How many tasks are given to an executor that refuses none, those of a periodic one included.
    static constexpr std::size_t kGiven = kTasks + (kIsFlat ? 0 : 3 + 5);

    Refused(std::size_t kth, bool isForEver, Refusal refusal)
        : refusal_{refusal}, executor_{kth, isForEver, refusal} {
        for (std::size_t i = 0; i < kTasks; ++i)
            timeouts_.push_back(timer_.newTimeout([this, w = witness_] { ++runs_; },
                                                  static_cast<int>(i / 3) * 1ms));
        if constexpr (!kIsFlat) {
            for (Object& object : objects_) timer_.schedule(object.hook, 2ms);
            timeouts_.push_back(
                timer_.scheduleAtFixedRate([this, w = witness_] { ++runs_; }, 1ms, 1ms));
        }
        clock_.advance(5ms);
        expectOutcomes();
        expectUsable();
    }

    std::size_t refused() const noexcept { return executor_.refused(); }

private:
    void expectOutcomes() {
        std::size_t const refused = executor_.refused();
        std::size_t const rejected = isTooLate(refusal_) ? 0 : refused;
        std::size_t ran = static_cast<std::size_t>(runs_.load());
        for (Object const& object : objects_) ran += static_cast<std::size_t>(object.runs.load());
        EXPECT_EQ(ran, executor_.given() - rejected);
        EXPECT_EQ(failures_.count(), refused);
        EXPECT_EQ(failures_.count(TaskFailure::Kind::rejected), rejected);
        if (!kIsFlat) timeouts_.back().cancel();
        std::size_t told = 0;
        for (Timeout const& each : timeouts_) {
            EXPECT_FALSE(each.isPending());
            EXPECT_FALSE(each.cancel());
            told += each.isRejected() ? 1U : 0U;
        }
        for (Object const& object : objects_) {
            EXPECT_FALSE(object.hook.isPending());
            if (!kIsFlat) told += object.runs == 0 ? 1U : 0U;
        }
        EXPECT_EQ(told, rejected);
        EXPECT_EQ(witness_.use_count(), 1);
        TimerStatistics const s = timer_.statistics();
        EXPECT_EQ(s.rejected, rejected);
        EXPECT_EQ(s.pending, 0U);
        EXPECT_EQ(s.scheduled, s.fired + s.cancelled + s.rejected);
        if constexpr (!kIsFlat) timer_.checkInvariants();
    }

    void expectUsable() {
        executor_.refuseNothingMore();
        std::vector<Timeout> next;
        for (std::size_t i = 0; i < kPlaces; ++i) next.push_back(timer_.newTimeout([] {}, 1ms));
        EXPECT_THROW(timer_.newTimeout([] {}, 1ms), RejectedExecution);
        clock_.advance(2ms);
        for (Timeout const& each : next) EXPECT_TRUE(each.isDone());
        if constexpr (!kIsFlat) {
            for (Object& object : objects_) {
                object.runs = 0;
                timer_.schedule(object.hook, 1ms);
            }
            clock_.advance(1ms);
            for (Object const& object : objects_) EXPECT_EQ(object.runs, 1);
        }
    }

    auto options() {
        std::conditional_t<kIsFlat, HashedWheelTimerOptions, TimerOptions> options;
        options.tick = 1ms;
        options.clock = clock_;
        options.executor = executor_;
        options.maxPendingTimeouts = kPlaces;
        options.errorHandler = failures_.handler();
        return options;
    }

    static constexpr std::size_t kPlaces = kTasks + (kIsFlat ? 0 : 4);

    Refusal const refusal_;
    ManualClock clock_;
    RefusingExecutor executor_;
    FailureLog failures_;
    std::shared_ptr<int> const witness_ = std::make_shared<int>();
    std::atomic<int> runs_{0};
    std::array<Object, kIsFlat ? 0 : 3> objects_;
    std::vector<Timeout> timeouts_;
    T timer_{options()};
};

template <class T>
class ExecutorRefusal : public testing::Test {};
TYPED_TEST_SUITE(ExecutorRefusal, TimersWithAThread, NamesOfAllTimers);

/// Every refusal of each task. Returns how many there were, up to the first that went wrong.
template <class T>
std::size_t refuseEach() {
    std::size_t refused = 0;
    for (Refusal const refusal : kRefusals) {
        for (bool const isForEver : {false, true}) {
            for (std::size_t kth = 1; kth <= Refused<T>::kGiven; ++kth) {
                SCOPED_TRACE(testing::Message() << "refusal " << static_cast<int>(refusal) << " of "
                                                << kth << (isForEver ? " and all later" : ""));
                refused += Refused<T>{kth, isForEver, refusal}.refused();
                if (testing::Test::HasFailure()) return refused;
            }
        }
    }
    return refused;
}

// G19
TYPED_TEST(ExecutorRefusal, AffectsOnlyWhatWasRefused) {
    std::size_t const refused = refuseEach<TypeParam>();
    figure("G19",
           "refusals in 6 ways, of the k-th or all from it on, that affected others, " +
               NamesOfAllTimers::GetName<TypeParam>(0),
           testing::Test::HasFailure() ? 1 : 0, exactly(0), {refused, 500});
}

}  // namespace
}  // namespace timingwheel::test
