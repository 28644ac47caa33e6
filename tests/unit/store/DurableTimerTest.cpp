// Timeouts that survive the process: in a file, and on a disk whose power is cut.

#include "PowerCut.h"

#include <support/Effort.h>
#include <support/Threads.h>
#include <timingwheel/ManualClock.h>
#include <timingwheel/store/DurableTimer.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <sqlite3.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace timingwheel::store {
namespace {

using namespace std::chrono_literals;
using test::PowerCut;
using test::waitUntil;
using test::Watchdog;
using Time = DurableTimer::TimePoint;

/// What handlers were called with.
class Deliveries {
public:
    explicit Deliveries(ManualClock const& clock) : clock_{clock} {}

    DurableTimer::Handler handler() {
        return [this](DurableTimeout const& timeout) {
            std::lock_guard const lock{mutex_};
            EXPECT_LE(timeout.deadline, Clock::systemTime(clock_.now())) << "early: " << timeout.id;
            all_.push_back(timeout);
        };
    }
    std::vector<std::string> ids() const {
        std::lock_guard const lock{mutex_};
        std::vector<std::string> ids;
        for (DurableTimeout const& one : all_) ids.push_back(one.id);
        return ids;
    }
    std::vector<DurableTimeout> take() {
        std::lock_guard const lock{mutex_};
        return std::exchange(all_, {});
    }

private:
    ManualClock const& clock_;
    std::mutex mutable mutex_;
    std::vector<DurableTimeout> all_;
};

/// A timer on a disk in memory, at noon of some day.
class DurableTimerTest : public testing::Test {
protected:
    Time now() const { return Clock::systemTime(clock.now()); }
    DurableTimerOptions options() {
        return {.errorHandler = [this](std::exception_ptr) { ++errors; },
                .clock = clock,
                .fileSystem = PowerCut::kName};
    }
    void start() { timer.emplace("timeouts.db", deliveries.handler(), options()); }
    void restart() {
        timer.reset();
        start();
    }
    /// All that is due has been delivered, and removed from the file.
    void waitForPending(std::uint64_t count) {
        waitUntil([&] { return timer->pendingTimeouts() == count || disk.isCut(); });
    }

    Watchdog watchdog{"a durable timer"};
    PowerCut disk{1};
    ManualClock clock{Clock::wallTime(Time{20'000 * 24h + 12h}), Clock::Kind::wall};
    Deliveries deliveries{clock};
    std::atomic<int> errors{0};
    std::optional<DurableTimer> timer;
};

TEST_F(DurableTimerTest, DeliversWhatIsDueWithItsPayload) {
    start();
    EXPECT_FALSE(timer->schedule("order 1", now() + 30min, "two books").get());
    EXPECT_EQ(timer->pendingTimeouts(), 1U);
    clock.advance(30min - 1ms);
    EXPECT_TRUE(deliveries.ids().empty());
    clock.advance(1ms);
    waitForPending(0);
    std::vector<DurableTimeout> const all = deliveries.take();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].id, "order 1");
    EXPECT_EQ(all[0].payload, "two books");
    EXPECT_EQ(all[0].deadline, now());
}

TEST_F(DurableTimerTest, KeepsWhatIsPendingAcrossARestart) {
    start();
    timer->schedule("near", now() + 1min).get();
    timer->schedule("far", now() + 24h).get();
    restart();
    EXPECT_EQ(timer->pendingTimeouts(), 2U);
    clock.advance(1min);
    waitForPending(1);
    restart();
    clock.advance(24h);
    waitForPending(0);
    EXPECT_EQ(deliveries.ids(), (std::vector<std::string>{"near", "far"}));
}

TEST_F(DurableTimerTest, DeliversWhatWasDueWhileItDidNotRun) {
    start();
    timer->schedule("b", now() + 2h).get();
    timer->schedule("a", now() + 1h).get();
    timer.reset();
    clock.advance(72h);
    start();
    waitForPending(0);
    EXPECT_EQ(deliveries.ids(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(DurableTimerTest, AnswersWhetherATimeoutWasPending) {
    start();
    for (Duration const delay : {Duration{1min}, Duration{24h}}) {
        Time const deadline = now() + delay.nanoseconds();
        EXPECT_FALSE(timer->cancel("a").get());
        EXPECT_FALSE(timer->reschedule("a", deadline).get());
        EXPECT_FALSE(timer->schedule("a", deadline).get());
        EXPECT_TRUE(timer->schedule("a", deadline + 1min).get());
        EXPECT_TRUE(timer->reschedule("a", deadline).get());
        EXPECT_TRUE(timer->reschedule("a", deadline + 2min).get());
        EXPECT_EQ(timer->pendingTimeouts(), 1U);
        EXPECT_TRUE(timer->cancel("a").get());
        EXPECT_FALSE(timer->cancel("a").get());
        EXPECT_EQ(timer->pendingTimeouts(), 0U);
    }
    clock.advance(48h);
    restart();
    EXPECT_TRUE(deliveries.ids().empty());
}

TEST_F(DurableTimerTest, MovesATimeoutFromFarToNearAndBack) {
    start();
    timer->schedule("nearer", now() + 24h, "1").get();
    timer->schedule("farther", now() + 1min, "2").get();
    EXPECT_TRUE(timer->reschedule("nearer", now() + 1min).get());
    EXPECT_TRUE(timer->reschedule("farther", now() + 24h).get());
    clock.advance(1min);
    waitForPending(1);
    clock.advance(24h);
    waitForPending(0);
    std::vector<DurableTimeout> const all = deliveries.take();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].id + all[0].payload, "nearer1");
    EXPECT_EQ(all[1].id + all[1].payload, "farther2");
}

TEST_F(DurableTimerTest, CommitsChangesOfOneIdInTheirOrder) {
    start();
    std::vector<std::future<bool>> answers;
    for (int i = 0; i < 100; ++i) {
        answers.push_back(timer->schedule("a", now() + 1min));
        answers.push_back(timer->reschedule("a", now() + 2min));
        answers.push_back(timer->reschedule("a", now() + 24h));
        answers.push_back(timer->reschedule("a", now() + 3min));
        answers.push_back(timer->cancel("a"));
    }
    answers.push_back(timer->schedule("a", now() + 4min));
    for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i].get(), i % 5 != 0) << i;
    clock.advance(3min);
    clock.advance(1min);
    waitForPending(0);
    EXPECT_EQ(deliveries.ids(), std::vector<std::string>{"a"});
}

TEST_F(DurableTimerTest, ReadsAheadInPortions) {
    start();
    std::vector<std::future<bool>> answers;
    for (int i = 0; i < 1'000; ++i)
        answers.push_back(timer->schedule(std::to_string(i), now() + 1h + i / 10 * 1min));
    for (auto& answer : answers) answer.get();
    timer.reset();
    DurableTimerOptions few = options();
    few.maxRead = 7;
    timer.emplace("timeouts.db", deliveries.handler(), few);
    clock.advance(1h);
    waitForPending(990);
    clock.advance(1h);
    waitForPending(390);
    clock.advance(48h);
    waitForPending(0);
    EXPECT_EQ(deliveries.ids().size(), 1'000U);
}

TEST_F(DurableTimerTest, CallsAHandlerThatThrowsAgain) {
    int calls = 0;
    timer.emplace(
        "timeouts.db",
        [&](DurableTimeout const&) {
            if (++calls < 3) throw std::runtime_error{"not yet"};
        },
        options());
    timer->schedule("a", now() + 1s).get();
    clock.advance(1s);
    waitUntil([&] {
        clock.advance(1s);
        return timer->pendingTimeouts() == 0;
    });
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(errors, 2);
}

TEST_F(DurableTimerTest, IsTooLateForACancelWhileTheHandlerRuns) {
    std::promise<void> mayEnd;
    std::promise<void> runs;
    timer.emplace(
        "timeouts.db",
        [&](DurableTimeout const& timeout) {
            if (timeout.payload == "new") return;
            runs.set_value();
            mayEnd.get_future().wait();
        },
        options());
    timer->schedule("a", now() + 1s).get();
    clock.advance(1s);
    runs.get_future().wait();
    EXPECT_FALSE(timer->cancel("a").get());
    EXPECT_FALSE(timer->reschedule("a", now() + 1h).get());
    EXPECT_FALSE(timer->schedule("a", now() + 1h, "new").get());
    mayEnd.set_value();
    waitForPending(1);
    EXPECT_TRUE(timer->cancel("a").get());
}

TEST_F(DurableTimerTest, MayBeUsedFromItsHandler) {
    timer.emplace(
        "timeouts.db",
        [&](DurableTimeout const& timeout) {
            if (timeout.id == "a") timer->schedule("b", now() + 1s).get();
            deliveries.handler()(timeout);
        },
        options());
    timer->schedule("a", now() + 1s).get();
    clock.advance(1s);
    waitUntil([&] { return deliveries.ids().size() == 1; });
    clock.advance(1s);
    waitForPending(0);
    EXPECT_EQ(deliveries.ids(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(DurableTimerTest, TellsOfADiskThatIsFullAndChangesNothing) {
    start();
    timer->schedule("a", now() + 1min, "before").get();
    disk.fill(true);
    EXPECT_THROW(timer->schedule("a", now() + 2min, "refused").get(), StoreError);
    EXPECT_THROW(timer->cancel("a").get(), StoreError);
    EXPECT_THROW(timer->schedule("b", now() + 1min).get(), StoreError);
    EXPECT_EQ(timer->pendingTimeouts(), 1U);
    clock.advance(1min);  // is delivered, but cannot be removed
    waitUntil([&] { return !deliveries.ids().empty() && errors > 0; });
    disk.fill(false);
    waitUntil([&] {
        clock.advance(1s);
        return timer->pendingTimeouts() == 0;
    });
    std::vector<DurableTimeout> const all = deliveries.take();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].payload, "before");
}

TEST_F(DurableTimerTest, CommitsWhatWasAcceptedBeforeItStops) {
    start();
    std::vector<std::future<bool>> answers;
    for (int i = 0; i < 100; ++i) answers.push_back(timer->schedule(std::to_string(i), now() + 1h));
    timer->stop();
    for (auto& answer : answers) EXPECT_FALSE(answer.get());
    EXPECT_THROW(static_cast<void>(timer->schedule("late", now())), std::logic_error);
    timer->stop();
    restart();
    EXPECT_EQ(timer->pendingTimeouts(), 100U);
}

TEST_F(DurableTimerTest, FollowsAClockThatIsSetForward) {
    start();
    timer->schedule("a", now() + 48h).get();
    clock.jump(48h);
    waitForPending(0);
    EXPECT_EQ(deliveries.ids(), std::vector<std::string>{"a"});
}

// ---- what is refused ---------------------------------------------------------------------------

void expectError(std::function<void()> const& call, std::string const& words) {
    try {
        call();
        ADD_FAILURE() << "nothing was thrown: " << words;
    } catch (std::exception const& error) {
        EXPECT_NE(std::string{error.what()}.find(words), std::string::npos) << error.what();
    }
}

TEST_F(DurableTimerTest, RefusesOptionsWithTheirBounds) {
    auto const refused = [&](auto change, std::string const& words) {
        DurableTimerOptions wrong = options();
        change(wrong);
        expectError([&] { DurableTimer{"timeouts.db", deliveries.handler(), wrong}; }, words);
    };
    refused([](auto& one) { one.horizon = 999ms; },
            "horizon in ms is 999: it must be 1000 to 31622400000");
    refused([](auto& one) { one.threads = 0; }, "threads is 0: it must be 1 to 1000");
    refused([](auto& one) { one.maxGroup = 0; }, "maxGroup is 0: it must be 1 to");
    refused([](auto& one) { one.maxRead = 0; }, "maxRead is 0: it must be 1 to");
    refused([](auto& one) { one.maxWaiting = 0; }, "maxWaiting is 0: it must be 1 to");
    refused([](auto& one) { one.retryDelay = 0s; }, "retryDelay in ms is 0: it must be 1 to");
    refused([](auto& one) { one.clock = Clock::steady(); }, "not of Clock::Kind::wall");
    refused([](auto& one) { one.fileSystem = "none"; }, "no such vfs: none");
    expectError([&] { DurableTimer{"timeouts.db", nullptr, options()}; }, "handler is empty");
}

TEST_F(DurableTimerTest, RefusesIdsAndPayloadsWithTheirBounds) {
    start();
    expectError([&] { static_cast<void>(timer->cancel("")); },
                "an id of 0 bytes: it must have 1 to 1000");
    expectError([&] { static_cast<void>(timer->schedule(std::string(1'001, 'x'), now())); },
                "an id of 1001 bytes: it must have 1 to 1000");
    expectError(
        [&] { static_cast<void>(timer->schedule("a", now(), std::string(1'000'001, 'x'))); },
        "a payload of 1000001 bytes: it must have 0 to 1000000");
    EXPECT_EQ(timer->pendingTimeouts(), 0U);
}

/// A real file, as another program leaves it.
class ForeignFile {
public:
    explicit ForeignFile(char const* sql) {
        std::filesystem::remove(path);
        sqlite3* connection = nullptr;
        sqlite3_open(path.string().c_str(), &connection);
        EXPECT_EQ(sqlite3_exec(connection, sql, nullptr, nullptr, nullptr), SQLITE_OK);
        sqlite3_close(connection);
    }
    ~ForeignFile() { std::filesystem::remove(path); }

    std::filesystem::path const path =
        std::filesystem::temp_directory_path() /
        ("timingwheel-store-" + std::to_string(std::random_device{}()) + ".db");
};

TEST_F(DurableTimerTest, RefusesTheDatabaseOfSomethingElse) {
    DurableTimerOptions real = options();
    real.fileSystem = "";
    {
        ForeignFile const foreign{"CREATE TABLE address (name TEXT)"};
        expectError(
            [&] {
                DurableTimer{foreign.path, deliveries.handler(), real};
            },
            "is a database of something else: its application_id is 0, it must be");
    }
    {
        ForeignFile const newer{"PRAGMA application_id = 1415017332; PRAGMA user_version = 7"};
        expectError(
            [&] {
                DurableTimer{newer.path, deliveries.handler(), real};
            },
            "its schema is of version 7: it must be 1");
    }
    expectError(
        [&] {
            DurableTimer{"/nowhere/timeouts.db", deliveries.handler(), real};
        },
        "/nowhere/timeouts.db: cannot be opened: unable to open database file");
}

TEST_F(DurableTimerTest, RefusesAFileThatIsInUse) {
    DurableTimerOptions real = options();
    real.fileSystem = "";
    ForeignFile const empty{"SELECT 1"};
    DurableTimer const first{empty.path, deliveries.handler(), real};
    expectError(
        [&] {
            DurableTimer{empty.path, deliveries.handler(), real};
        },
        "database is locked");
}

// ---- the power is cut --------------------------------------------------------------------------

/// What must be, by what was confirmed. Where an answer did not come, one of two things may be.
struct Known {
    std::optional<Time> deadline;    // pending
    std::optional<Time> orDeadline;  // or this, if isUnsure
    bool isUnsure = false;
};

TEST(DurableTimerPowerCut, LosesNothingThatWasConfirmed) {
    Watchdog const watchdog{"power cuts", 60s};
    std::uint64_t const rounds = test::rounds(60, 3'000);
    std::uint64_t const seed = std::random_device{}();
    std::uint64_t cuts = 0, unsure = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        SCOPED_TRACE("seed " + std::to_string(seed + round));
        std::mt19937_64 random{seed + round};
        PowerCut disk{random()};
        ManualClock clock{Clock::wallTime(Time{20'000 * 24h}), Clock::Kind::wall};
        Deliveries deliveries{clock};
        DurableTimerOptions const options{.maxRead = 1 + random() % 20,
                                          .maxGroup = 1 + random() % 20,
                                          .errorHandler = [](std::exception_ptr) {},
                                          .clock = clock,
                                          .fileSystem = PowerCut::kName};
        auto const now = [&] { return Clock::systemTime(clock.now()); };
        std::map<std::string, Known> known;
        disk.cutAfter(1 + random() % 400);

        // Until the power is cut, in the middle of anything, a start included.
        std::optional<DurableTimer> timer;
        try {
            timer.emplace("timeouts.db", deliveries.handler(), options);
            while (!disk.isCut()) {
                std::vector<std::pair<std::string, std::function<void()>>> waiting;
                for (std::uint64_t i = 0; i <= random() % 4; ++i) {
                    std::string const id(1, static_cast<char>('a' + random() % 6));
                    Known& one = known[id];
                    // One change of an id at a time, so that what may be is one of two.
                    if (std::any_of(waiting.begin(), waiting.end(),
                                    [&](auto const& other) { return other.first == id; }))
                        continue;
                    Time const deadline = now() + std::chrono::seconds{1 + random() % 3'000};
                    std::uint64_t const kind = random() % 4;
                    std::optional<Time> next = deadline;
                    std::shared_future<bool> answer;
                    if (kind == 0) {
                        next.reset();
                        answer = timer->cancel(id).share();
                    } else if (kind == 1 && one.deadline) {
                        answer = timer->reschedule(id, deadline).share();
                    } else {
                        answer = timer->schedule(id, deadline).share();
                    }
                    waiting.emplace_back(id, [&one, next, answer] {
                        try {
                            answer.get();
                            one.deadline = next;
                        } catch (StoreError const&) {
                            one.isUnsure = true;
                            one.orDeadline = next;
                        }
                    });
                }
                for (auto const& [id, wait] : waiting) wait();
                clock.advance(std::chrono::seconds{random() % 600});
                std::uint64_t pending = 0;
                for (auto& [id, one] : known) {
                    if (one.isUnsure) continue;
                    if (one.deadline && *one.deadline <= now()) continue;
                    pending += one.deadline ? 1U : 0U;
                }
                waitUntil([&] { return disk.isCut() || timer->pendingTimeouts() == pending; });
                if (disk.isCut()) break;
                for (auto& [id, one] : known)
                    if (one.deadline && *one.deadline <= now()) one.deadline.reset();
            }
        } catch (StoreError const&) {
            EXPECT_TRUE(disk.isCut());
        }
        timer.reset();
        ++cuts;
        std::multimap<std::string, Time> before;
        for (DurableTimeout const& one : deliveries.take()) before.emplace(one.id, one.deadline);

        disk.restore();
        Time const atRestart = now();
        timer.emplace("timeouts.db", deliveries.handler(), options);
        clock.advance(24h);
        waitUntil([&] { return timer->pendingTimeouts() == 0; });
        timer.reset();
        std::map<std::string, std::vector<Time>> after;
        for (DurableTimeout const& one : deliveries.take()) after[one.id].push_back(one.deadline);
        for (auto const& [name, one] : known) {
            std::string const& id = name;  // clang 14 lets no lambda have it otherwise
            unsure += one.isUnsure;
            auto const wasDelivered = [&](Time deadline) {
                auto const [from, to] = before.equal_range(id);
                return std::any_of(from, to, [&](auto const& d) { return d.second == deadline; });
            };
            std::vector<Time> const& found = after[id];
            EXPECT_LE(found.size(), 1U) << id;
            if (found.empty()) {
                bool const mayBeNone =
                    !one.deadline || wasDelivered(*one.deadline) ||
                    (one.isUnsure && (!one.orDeadline || wasDelivered(*one.orDeadline)));
                EXPECT_TRUE(mayBeNone) << id << " is lost";
            } else {
                bool const isKnown = found[0] == one.deadline ||
                                     (one.isUnsure && found[0] == one.orDeadline) ||
                                     (wasDelivered(found[0]) && found[0] <= atRestart);
                EXPECT_TRUE(isKnown) << id << " came back";
            }
        }
        if (testing::Test::HasFailure()) break;
    }
    std::cout << "[  FIGURE  ] " << cuts << " cuts, " << unsure << " changes without an answer\n";
}

}  // namespace
}  // namespace timingwheel::store
