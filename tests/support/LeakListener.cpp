// Every test gives back what it has allocated: in each test program, at the end of each test, and
// so in the fast suite as well.

#include <support/AllocationCounter.h>
#include <support/Platform.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/detail/FreeKeptNodes.h>

#include <gtest/gtest.h>

#include <chrono>
#include <string_view>
#include <thread>

namespace timingwheel::test {

namespace {

/// What is made once for a process and kept: the library's steady clock and its list of flat
/// timers, gtest's traces.
void warmUp() {
    ManualTimer const manual;
    HashedWheelTimer flat;
    flat.stop();
    SCOPED_TRACE("so that");
    SCOPED_TRACE("there is room");
    SCOPED_TRACE("for some");
    SCOPED_TRACE("of them");
}

/// gtest keeps what it knows of the last death test. A test with RecordProperty("keeps", what)
/// makes something that is kept for the process.
bool mayKeep(testing::TestInfo const& test) {
    if (std::string_view{test.test_suite_name()}.find("DeathTest") != std::string_view::npos)
        return true;
    testing::TestResult const& result = *test.result();
    for (int i = 0; i < result.test_property_count(); ++i)
        if (std::string_view{result.GetTestProperty(i).key()} == "keeps") return true;
    return false;
}

/// A timer that its own task destroyed has left a thread that ends by itself.
void waitForThreads(long long blocks) {
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds{30};
    while (livingBlocks() > blocks && !isOnlyThread() && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
}

class LeakListener : public testing::EmptyTestEventListener {
    void OnTestProgramStart(testing::UnitTest const&) override { warmUp(); }
    void OnTestStart(testing::TestInfo const&) override {
        detail::freeKeptNodes();
        before_ = livingBlocks();
        alignedBefore_ = livingAlignedBlocks();
    }

    void OnTestEnd(testing::TestInfo const& test) override {
        // What gtest remembers of a failure lives on.
        if (test.result()->total_part_count() > 0 || mayKeep(test)) return;
        detail::freeKeptNodes();
        waitForThreads(before_);
        long long const leaked = livingBlocks() - before_;
        if (leaked > 0)
            ADD_FAILURE() << leaked << " blocks that were allocated in this test live on";
        else if (leaked == 0 && livingAlignedBlocks() != alignedBefore_)
            ADD_FAILURE() << "a block was allocated with an alignment and given back without, or "
                             "the reverse";
    }

    long long before_ = 0;
    long long alignedBefore_ = 0;
};

// gtest owns its listeners.
[[maybe_unused]] bool const kListens = [] {
    testing::UnitTest::GetInstance()->listeners().Append(new LeakListener);
    return true;
}();

}  // namespace

}  // namespace timingwheel::test
