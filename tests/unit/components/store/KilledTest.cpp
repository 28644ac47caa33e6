// A program that is killed at any moment, or at each write, and finishes at last.

#include <support/Effort.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace timingwheel::store {
namespace {

using namespace std::chrono_literals;

enum class End { killed, exited };

/// What the program said until it ended, or was killed after so long; and how it ended.
std::pair<std::string, End> follow(std::vector<std::string> arguments,
                                   std::chrono::microseconds killedAfter = 0us) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::runtime_error{"no pipe"};
    arguments.insert(arguments.begin(), TIMINGWHEEL_VICTIM);
    std::vector<char*> pointers;
    for (std::string& one : arguments) pointers.push_back(one.data());
    pointers.push_back(nullptr);
    pid_t const child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(pointers[0], pointers.data());
        _exit(127);
    }
    close(ends[1]);
    std::thread killer;
    if (killedAfter > 0us)
        killer = std::thread{[&] {
            std::this_thread::sleep_for(killedAfter);
            kill(child, SIGKILL);
        }};
    std::string output;
    std::array<char, 65'536> bytes{};
    for (ssize_t got = 0; (got = read(ends[0], bytes.data(), bytes.size())) > 0;)
        output.append(bytes.data(), static_cast<std::size_t>(got));
    close(ends[0]);
    if (killer.joinable()) killer.join();
    int status = 0;
    waitpid(child, &status, 0);
    bool const isKilled = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    EXPECT_TRUE(isKilled || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << status;
    return {output, isKilled ? End::killed : End::exited};
}

/// A folder that goes with the test.
class Folder {
public:
    Folder() { std::filesystem::create_directory(path_); }
    Folder(Folder const&) = delete;
    Folder& operator=(Folder const&) = delete;
    ~Folder() { std::filesystem::remove_all(path_); }

    std::string file() const { return path_ / "timeouts.db"; }

private:
    std::filesystem::path const path_ =
        std::filesystem::temp_directory_path() /
        ("timingwheel-killed-" + std::to_string(std::random_device{}()));
};

/// What the programs on one file have said.
class Story {
public:
    void add(std::string const& output) {
        std::istringstream lines{output};
        for (std::string what, id; lines >> what >> id;) {
            said_[what].insert(id);
            deliveries_ += what == "delivered" ? 1U : 0U;
        }
    }
    /// After the last, which has delivered what was pending.
    void judge() {
        EXPECT_TRUE(said_["early"].empty()) << *said_["early"].begin();
        // One that was killed may not have said what its last cancel came to.
        for (std::string const& id : said_["scheduled"])
            EXPECT_TRUE(said_["delivered"].contains(id) || said_["cancelling"].contains(id)) << id;
        for (std::string const& id : said_["cancelled"])
            EXPECT_FALSE(said_["delivered"].contains(id)) << id;
    }
    std::set<std::string> const& said(std::string const& what) { return said_[what]; }
    std::uint64_t deliveries() const { return deliveries_; }

private:
    std::map<std::string, std::set<std::string>> said_;
    std::uint64_t deliveries_ = 0;
};

TEST(Killed, LosesNothingThatWasConfirmed) {
    std::uint64_t const kills = test::rounds(10, 300, 5);
    std::mt19937_64 random{std::random_device{}()};
    Folder const folder;
    Story story;
    // On a machine that is very busy a program may need longer to confirm anything.
    for (std::uint64_t i = 0; i < kills || story.said("scheduled").empty(); ++i) {
        std::uint64_t const most = 130'000 * (1 + i / kills);
        auto const [said, end] = follow({folder.file(), std::to_string(i)},
                                        std::chrono::microseconds{20'000 + random() % most});
        EXPECT_EQ(end, End::killed);
        story.add(said);
    }
    auto const [said, end] = follow({folder.file(), "finish"});
    EXPECT_EQ(end, End::exited);
    story.add(said);

    std::cout << "[  FIGURE  ] " << kills << " kills, " << story.said("scheduled").size()
              << " confirmed, " << story.said("cancelled").size() << " cancelled, "
              << story.deliveries() << " deliveries of " << story.said("delivered").size() << '\n';
    story.judge();
    EXPECT_FALSE(story.said("scheduled").empty());
}

// A program that kills itself at each n-th write, sync, truncation and removal of a course.
TEST(Killed, LosesNothingAtAnyCallOfACourse) {
    std::uint64_t calls = 0, kills = 0, confirmed = 0;
    auto const trial = [&](std::string const& how, std::uint64_t at) {
        SCOPED_TRACE(how + ' ' + std::to_string(at));
        Folder const folder;
        Story story;
        auto const [said, end] = follow({folder.file(), how, std::to_string(at)});
        kills += end == End::killed ? 1U : 0U;
        story.add(said);
        if (at == 0) calls = std::stoull(*story.said("calls").begin());
        story.add(follow({folder.file(), "finish"}).first);
        confirmed += story.said("scheduled").size();
        story.judge();
    };
    trial("before", 0);
    EXPECT_EQ(kills, 0U);
    std::uint64_t const step = std::max<std::uint64_t>(calls / test::rounds(12, 1'000), 1);
    std::uint64_t trials = 0;
    for (std::string const how : {"before", "half"})
        for (std::uint64_t at = how == "half" ? 1 + step / 2 : 1; at <= calls; at += step, ++trials)
            trial(how, at);
    std::cout << "[  FIGURE  ] " << kills << " kills, at one of " << step << " of " << calls
              << " calls, " << confirmed << " confirmed\n";
    // A machine that is very busy has fewer calls in some courses.
    EXPECT_GE(kills, trials / 2);
}

}  // namespace
}  // namespace timingwheel::store
