#include "core/base/platform/Thread.h"

#include <support/AllocationCounter.h>
#include <support/Folders.h>
#include <support/Json.h>
#include <support/TemporaryFile.h>
#include <support/TestTimers.h>
#include <timingwheel/HashedWheelTimer.h>
#include <timingwheel/TimerHook.h>
#include <timingwheel/TimerTrace.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <unistd.h>
#include <vector>

namespace timingwheel::test {
namespace {

using namespace std::chrono_literals;

std::string contentOf(std::filesystem::path const& path) {
    std::ifstream file{path};
    EXPECT_TRUE(file.is_open()) << path;
    std::ostringstream content;
    content << file.rdbuf();
    return content.str();
}

/// The events of a trace in lines: without the origin.
std::vector<Json> eventsOf(std::string const& text) {
    std::vector<Json> events;
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) events.push_back(Json::parse(line));
    EXPECT_FALSE(events.empty());
    if (events.empty()) return events;
    EXPECT_TRUE(events.front().has("origin"));
    events.erase(events.begin());
    return events;
}

/// What Chrome's format wants of each event, and of all of them: a span begins before its marks,
/// and ends after them, once.
struct Spans {
    explicit Spans(std::vector<Json> const& events) {
        for (Json const& event : events) {
            std::string const& phase = event["ph"].text();
            static_cast<void>(event["pid"].integer());
            EXPECT_TRUE(phase == "M" || event["ts"].number() >= 0);

            if (phase == "M") named.insert(event["tid"].integer());
            EXPECT_TRUE(phase == "C" || named.contains(event["tid"].integer()));
            if (phase == "b" || phase == "n" || phase == "e") follow(event, phase);
        }
    }

    void follow(Json const& event, std::string const& phase) {
        long long const id = event["id"].integer();
        if (phase == "b") {
            EXPECT_TRUE(begun.emplace(id, event["ts"].number()).second) << "id " << id << " again";
            open.insert(id);
        } else {
            EXPECT_TRUE(open.contains(id)) << phase << " of " << id;
            EXPECT_GE(event["ts"].number(), begun[id]);
        }
        if (phase == "e") {
            open.erase(id);
            ++ended[event["args"]["ended"].text()];
        }
    }

    std::set<long long> named;
    std::map<long long, double> begun;
    std::set<long long> open;
    std::map<std::string, std::size_t> ended;
};

template <class Trace>
class TimerTrace : public testing::Test {};
using Traces = testing::Types<JsonLinesTrace, ChromeTrace>;
struct NamesOfTraces {
    template <class T>
    static std::string GetName(int) {
        return std::is_same_v<T, ChromeTrace> ? "ChromeTrace" : "JsonLinesTrace";
    }
};
TYPED_TEST_SUITE(TimerTrace, Traces, NamesOfTraces);

TYPED_TEST(TimerTrace, WritesATimeoutOf25MillisecondsAsRecorded) {
    std::ostringstream out;
    std::thread{[&out] {
        detail::nameThisThread("golden");
        TypeParam trace{out};
        ManualClock clock;
        ManualTimer timer{{.tick = 1ms, .wheelSize = 20, .clock = clock, .observer = &trace}};
        timer.newTimeout([] {}, 25ms);
        clock.advance(30ms);
    }}.join();
    std::filesystem::path const golden = test::goldenFolder();
    bool const inLines = std::is_same_v<TypeParam, JsonLinesTrace>;
    EXPECT_EQ(out.str(), contentOf(golden / (inLines ? "timeout-of-25ms.jsonl"  //
                                                     : "timeout-of-25ms.json")));
}

TYPED_TEST(TimerTrace, WritesIntoAFile) {
    TemporaryFile const file;
    std::ostringstream out;
    for (bool const intoFile : {true, false}) {
        auto trace =
            intoFile ? std::make_unique<TypeParam>(file.path) : std::make_unique<TypeParam>(out);
        ManualClock clock;
        ManualTimer timer{{.clock = clock, .observer = trace.get()}};
        timer.newTimeout([] {}, 25ms);
        clock.advance(30ms);
        std::string const before = intoFile ? contentOf(file.path) : out.str();
        EXPECT_EQ(before, "");
        trace->flush();
        std::string const flushed = intoFile ? contentOf(file.path) : out.str();
        EXPECT_NE(flushed, "");
    }
    EXPECT_EQ(contentOf(file.path), out.str());
}

TYPED_TEST(TimerTrace, NamesTheFileThatCannotBeOpened) {
    std::string const path = "/nowhere/to/be/found.json";
    expectThrows<std::system_error>([&] { TypeParam{path}; }, path);
    try {
        TypeParam{path};
    } catch (std::system_error const& error) {
        EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
    }
    expectThrows<std::system_error>([] { TypeParam{"/"}; }, "\"/\"");
}

TYPED_TEST(TimerTrace, TellsOnceOfAWriteThatFails) {
    if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
    std::vector<std::string> reported;
    std::error_code code;
    ManualClock clock;
    int runs = 0;
    {
        TypeParam trace{"/dev/full", [&](std::system_error const& error) {
                            reported.emplace_back(error.what());
                            code = error.code();
                            throw 7;  // changes nothing either
                        }};
        ManualTimer timer{{.clock = clock, .observer = &trace}};
        for (int i = 0; i < 3'000; ++i) timer.newTimeout([&runs] { ++runs; }, 1ms);
        clock.advance(1ms);
        trace.flush();
    }
    EXPECT_EQ(runs, 3'000);
    EXPECT_EQ(reported.size(), 1U);
    EXPECT_EQ(code, std::errc::no_space_on_device);
    EXPECT_NE(reported.at(0).find("/dev/full"), std::string::npos);
}

TYPED_TEST(TimerTrace, TellsOfAStreamThatFails) {
    std::ostringstream out;
    out.exceptions(std::ios::badbit);
    out.setstate(std::ios::eofbit);
    int reported = 0;
    {
        TypeParam trace{out, [&reported](std::system_error const&) { ++reported; }};
        ManualClock clock;
        ManualTimer timer{{.clock = clock, .observer = &trace}};
        timer.newTimeout([] {}, 1ms);
        clock.advance(1ms);
    }
    EXPECT_EQ(reported, 1);
}

#if defined(__linux__)
/// Closes what a trace has open, behind its back.
void closeDescriptorOf(std::filesystem::path const& path) {
    for (auto const& each : std::filesystem::directory_iterator{"/proc/self/fd"}) {
        std::error_code gone;
        if (std::filesystem::read_symlink(each.path(), gone) == path)
            ::close(std::stoi(each.path().filename()));
    }
}

TYPED_TEST(TimerTrace, TellsOfAFileThatCannotBeClosed) {
    TemporaryFile const file;
    std::vector<std::error_code> reported;
    {
        TypeParam trace{file.path,
                        [&](std::system_error const& error) { reported.push_back(error.code()); }};
        closeDescriptorOf(std::filesystem::canonical(file.path));
    }
    EXPECT_EQ(reported, std::vector{std::make_error_code(std::errc::bad_file_descriptor)});
}
#endif

/// Traces `before` timeouts and one more, whose `kth` allocation fails; false if it has fewer.
template <class Trace>
bool traceWithoutMemory(std::filesystem::path const& path, std::size_t before, std::size_t kth,
                        AllocationFailure::Repeat repeat) {
    std::size_t reported = 0;
    std::error_code code;
    bool hasFailed = false;
    {
        Trace trace{path, [&](std::system_error const& error) {
                        ++reported;
                        code = error.code();
                    }};
        std::vector<int> const entries(before + 1);
        TimerEvent event{.stage = TimerEvent::Stage::schedule};
        for (std::size_t i = 0; i <= before; ++i) {
            std::optional<AllocationFailure> failure;
            if (i == before) failure.emplace(kth, repeat);
            event.number = i;
            event.entry = &entries[i];
            trace.onEvent(event);
            hasFailed = failure && failure->happened();
        }
    }
    EXPECT_EQ(reported, hasFailed ? 1U : 0U);
    EXPECT_EQ(code,
              hasFailed ? std::make_error_code(std::errc::not_enough_memory) : std::error_code{});
    return hasFailed;
}

// Bug pattern: what waits in the buffer is thrown away, and the array never ends.
TYPED_TEST(TimerTrace, EndsWithWhatIsWholeWhenThereIsNoMemory) {
    using Repeat = AllocationFailure::Repeat;
    TemporaryFile const file;
    for (Repeat const repeat : {Repeat::once, Repeat::forEver}) {
        for (std::size_t const before : {0U, 5U}) {
            std::size_t kth = 1;
            while (traceWithoutMemory<TypeParam>(file.path, before, kth, repeat)) {
                SCOPED_TRACE(testing::Message() << before << " timeouts, allocation " << kth++);
                std::string const text = contentOf(file.path);
                if constexpr (std::is_same_v<TypeParam, ChromeTrace>) {
                    EXPECT_EQ(Spans{Json::parse(text).items()}.begun.size(), before);
                } else if (before == 0) {
                    EXPECT_EQ(text, "");
                } else {
                    EXPECT_EQ(eventsOf(text).size(), before);
                }
            }
            EXPECT_GT(kth, 1U) << "nothing was allocated";
        }
    }
}

TEST(TimerTrace, ShowsAllNineStagesWithAnExecutorAndTheCancel) {
    std::ostringstream out;
    {
        JsonLinesTrace trace{out};
        ManualClock clock;
        SynchronousExecutor executor;
        SystemTimer timer{{.clock = clock, .executor = executor, .observer = &trace}};
        timer.newTimeout([] {}, 8500ms);
        timer.newTimeout([] {}, 8500ms).cancel();
        clock.advance(9s);
    }
    std::set<std::string> stages;
    for (Json const& event : eventsOf(out.str())) stages.insert(event["stage"].text());
    EXPECT_EQ(stages, (std::set<std::string>{"schedule", "intake", "place", "arm", "wake",
                                             "cascade", "expire", "dispatch", "run", "cancel"}));
}

TEST(TimerTrace, NumbersTimeoutsAnewWhoseAddressIsUsedAgain) {
    struct Object {
        void onDue() {}
        TimerHook<&Object::onDue> hook{*this};
    };
    std::ostringstream lines;
    std::ostringstream chrome;
    constexpr long long kTimeouts = 1000;
    for (bool const inLines : {true, false}) {
        std::unique_ptr<TimerObserver> trace;
        if (inLines)
            trace = std::make_unique<JsonLinesTrace>(lines);
        else
            trace = std::make_unique<ChromeTrace>(chrome);
        ManualClock clock;
        ManualTimer timer{{.clock = clock, .observer = trace.get()}};
        Object object;
        for (long long i = 0; i < kTimeouts; ++i) {
            timer.schedule(object.hook, 1ms);
            if (i % 2 == 0) object.hook.cancel();
            clock.advance(1ms);
        }
    }
    std::map<long long, std::string> stages;
    for (Json const& event : eventsOf(lines.str()))
        if (event.has("entry") && event["stage"].text() != "arm")
            stages[event["entry"].integer()] += event["stage"].text() + " ";
    ASSERT_EQ(stages.size(), kTimeouts);
    for (auto const& [id, line] : stages)
        EXPECT_EQ(line, id % 2 == 1 ? "schedule intake place cancel "
                                    : "schedule intake place expire run ");
    Spans const spans{Json::parse(chrome.str()).items()};
    EXPECT_EQ(spans.begun.size(), static_cast<std::size_t>(kTimeouts));
    EXPECT_TRUE(spans.open.empty());
}

TEST(TimerTrace, TellsTheRunOfAHookFromItsNextTimeout) {
    struct Object {
        explicit Object(ManualTimer& wheel) : timer{wheel} {}
        void onDue() {
            if (++runs < 3) timer.schedule(hook, 5ms);
        }
        ManualTimer& timer;
        int runs = 0;
        TimerHook<&Object::onDue> hook{*this};
    };
    std::ostringstream out;
    {
        JsonLinesTrace trace{out};
        ManualClock clock;
        ManualTimer timer{{.clock = clock, .observer = &trace}};
        Object object{timer};
        timer.schedule(object.hook, 5ms);
        clock.advance(20ms);
    }
    std::map<long long, long long> deadlines;
    for (Json const& event : eventsOf(out.str()))
        if (event["stage"].text() == "run")
            deadlines[event["entry"].integer()] = event["deadline"].integer();
    EXPECT_EQ(deadlines, (std::map<long long, long long>{{1, 5}, {2, 10}, {3, 15}}));
}

TEST(TimerTrace, ShowsAPeriodicTimeoutAsOneSpan) {
    std::ostringstream out;
    {
        ChromeTrace trace{out};
        ManualClock clock;
        ManualTimer timer{{.clock = clock, .observer = &trace}};
        Timeout const t = timer.scheduleAtFixedRate([] {}, 5ms, 5ms);
        clock.advance(17ms);
        t.cancel();
    }
    Spans const spans{Json::parse(out.str()).items()};
    EXPECT_EQ(spans.ended, (std::map<std::string, std::size_t>{{"cancel", 1}}));
    EXPECT_TRUE(spans.open.empty());
}

TEST(TimerTrace, IsValidJsonThoughNothingHappened) {
    std::ostringstream chrome;
    std::ostringstream lines;
    {
        ChromeTrace const trace{chrome};
        JsonLinesTrace const other{lines};
    }
    EXPECT_TRUE(Json::parse(chrome.str()).items().empty());
    EXPECT_EQ(lines.str(), "");
}

// The array may lack its end only.
TEST(TimerTrace, LacksOnlyTheEndWhileItIsWritten) {
    std::ostringstream out;
    ManualClock clock;
    ChromeTrace trace{out};
    ManualTimer timer{{.clock = clock, .observer = &trace}};
    timer.newTimeout([] {}, 25ms);
    for (int i = 0; i < 3; ++i) {
        trace.flush();
        EXPECT_FALSE(Json::parse(out.str() + "]").items().empty());
        clock.advance(12ms);
    }
}

/// Timeouts of several threads, some cancelled, some rescheduled, some run.
template <class Trace, class Options>
std::string traceOfThreads(std::size_t timeouts) {
    constexpr std::size_t kThreads = 4;
    std::ostringstream out;
    {
        Trace trace{out};
        Options options{};
        options.observer = &trace;
        ManualClock clock;
        options.clock = clock;
        options.tick = 1ms;
        std::conditional_t<std::is_same_v<Options, TimerOptions>, SystemTimer, HashedWheelTimer>
            timer{options};
        std::vector<std::thread> threads;
        for (std::size_t thread = 0; thread < kThreads; ++thread)
            threads.emplace_back([&timer, timeouts, thread] {
                for (std::size_t i = thread; i < timeouts; i += kThreads) {
                    Timeout const t = timer.newTimeout([] {}, std::chrono::milliseconds{i % 7});
                    if (i % 3 == 0) t.cancel();
                    if constexpr (std::is_same_v<Options, TimerOptions>)
                        if (i % 5 == 0) timer.reschedule(t, 2ms);
                }
            });
        clock.advance(20ms);
        for (std::thread& thread : threads) thread.join();
        clock.advance(3ms);
        static_cast<void>(timer.stop());
    }
    return out.str();
}

// Bug pattern: the id of a thread that has ended is the next one's.
TEST(TimerTrace, TellsThreadsApartThatRunOneAfterTheOther) {
    std::ostringstream out;
    ManualClock clock;
    {
        JsonLinesTrace trace{out};
        ManualTimer timer{{.clock = clock, .observer = &trace}};
        for (int i = 0; i < 3; ++i) std::thread{[&timer] { timer.newTimeout([] {}, 5ms); }}.join();
    }
    std::set<long long> threads;
    for (Json const& event : eventsOf(out.str()))
        if (event["stage"].text() == "schedule") threads.insert(event["thread"].integer());
    EXPECT_EQ(threads, (std::set<long long>{1, 2, 3}));
}

// Bug pattern: the difference of two times does not fit.
TEST(TimerTrace, TellsTimesFarFromTheOrigin) {
    std::ostringstream out;
    {
        JsonLinesTrace trace{out};
        TimerEvent event{.stage = TimerEvent::Stage::wake, .time = Clock::TimePoint::min()};
        trace.onEvent(event);
        event.number = 1;
        event.time = Clock::TimePoint::max();
        trace.onEvent(event);
    }
    EXPECT_THAT(out.str(), testing::HasSubstr("\"time\":18446744073709551615,"));
    out.str("");
    {
        JsonLinesTrace trace{out};
        TimerEvent event{.stage = TimerEvent::Stage::wake, .time = Clock::TimePoint::max()};
        trace.onEvent(event);
        event.number = 1;
        event.time = Clock::TimePoint::min();
        trace.onEvent(event);
    }
    EXPECT_THAT(out.str(), testing::HasSubstr("\"time\":-18446744073709551615,"));
}

TEST(TimerTrace, ShowsTheTimeoutsOfManyThreads) {
    constexpr std::size_t kTimeouts = 1'000;
    Spans const spans{Json::parse(traceOfThreads<ChromeTrace, TimerOptions>(kTimeouts)).items()};
    EXPECT_EQ(spans.begun.size(), kTimeouts);
    EXPECT_TRUE(spans.open.empty());
    EXPECT_GE(spans.named.size(), 4U);

    std::map<long long, long long> next;
    for (Json const& event : eventsOf(traceOfThreads<JsonLinesTrace, TimerOptions>(kTimeouts)))
        ASSERT_EQ(event["number"].integer(), next[event["shard"].integer()]++);
}

TEST(TimerTrace, ShowsTheTimeoutsOfAFlatTimer) {
    constexpr std::size_t kTimeouts = 1'000;
    Spans const spans{
        Json::parse(traceOfThreads<ChromeTrace, HashedWheelTimerOptions>(kTimeouts)).items()};
    EXPECT_EQ(spans.begun.size(), kTimeouts);
    EXPECT_TRUE(spans.open.empty());
}

}  // namespace
}  // namespace timingwheel::test
