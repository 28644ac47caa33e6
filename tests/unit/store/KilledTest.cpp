// A program that is killed at any moment, and again, and finishes at last.

#include <support/Effort.h>

#include <gtest/gtest.h>

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

namespace timingwheel::store {
namespace {

using namespace std::chrono_literals;

/// What the program said until it ended, or was killed after so long.
std::string outputOf(std::filesystem::path const& file, std::string const& task,
                     std::chrono::microseconds killedAfter) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::runtime_error{"no pipe"};
    pid_t const child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(TIMINGWHEEL_VICTIM, TIMINGWHEEL_VICTIM, file.c_str(), task.c_str(),
              static_cast<char*>(nullptr));
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
    bool const isAsExpected =
        killedAfter > 0us ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0;
    EXPECT_TRUE(isAsExpected) << "status " << status;
    return output;
}

TEST(Killed, LosesNothingThatWasConfirmed) {
    std::uint64_t const kills = test::rounds(10, 300, 5);
    std::random_device device;
    std::mt19937_64 random{device()};
    auto const folder =
        std::filesystem::temp_directory_path() / ("timingwheel-killed-" + std::to_string(random()));
    std::filesystem::create_directory(folder);
    std::map<std::string, std::set<std::string>> said;
    std::uint64_t deliveries = 0;
    auto const read = [&](std::string const& output) {
        std::istringstream lines{output};
        for (std::string what, id; lines >> what >> id;) {
            said[what].insert(id);
            deliveries += what == "delivered" ? 1U : 0U;
        }
    };
    for (std::uint64_t i = 0; i < kills; ++i)
        read(outputOf(folder / "timeouts.db", std::to_string(i),
                      std::chrono::microseconds{20'000 + random() % 130'000}));
    read(outputOf(folder / "timeouts.db", "finish", 0us));
    std::filesystem::remove_all(folder);

    std::cout << "[  FIGURE  ] " << kills << " kills, " << said["scheduled"].size()
              << " confirmed, " << said["cancelled"].size() << " cancelled, " << deliveries
              << " deliveries of " << said["delivered"].size() << '\n';
    EXPECT_TRUE(said["early"].empty()) << *said["early"].begin();
    // One that was killed may not have said what its last cancel came to.
    for (std::string const& id : said["scheduled"])
        EXPECT_TRUE(said["delivered"].contains(id) || said["cancelling"].contains(id)) << id;
    for (std::string const& id : said["cancelled"])
        EXPECT_FALSE(said["delivered"].contains(id)) << id;
    EXPECT_FALSE(said["scheduled"].empty());
}

}  // namespace
}  // namespace timingwheel::store
