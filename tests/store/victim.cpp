// What KilledTest.cpp kills: uses a file, and says of each change that it was confirmed, and of
// each delivery that it was made.
//
// timingwheel-store-victim <file> <seed>    random changes, until it is killed
// timingwheel-store-victim <file> finish    until nothing is pending
// timingwheel-store-victim <file> before|half <n>
//     Always the same changes, with a restart. Kills itself before the n-th write, sync, truncation
//     or removal, or half-way through a write. If it comes to its end, it says how many there were.

#include "KillAt.h"

#include <timingwheel/store/DurableTimer.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using std::chrono::system_clock;
using timingwheel::store::DurableTimeout;
using timingwheel::store::DurableTimer;

/// A line in one call, so that it is there as a whole or not at all.
void say(std::string_view what, std::string const& id) {
    std::string const line = std::string{what} + ' ' + id + '\n';
    if (write(STDOUT_FILENO, line.data(), line.size()) < 0) std::_Exit(2);
}

void deliver(DurableTimeout const& timeout) {
    say(system_clock::now() < timeout.deadline ? "early" : "delivered", timeout.id);
}

void waitUntilPending(DurableTimer const& timer, std::uint64_t count) {
    while (timer.pendingTimeouts() > count) std::this_thread::sleep_for(1ms);
}

void changeAtRandom(DurableTimer& timer, std::string const& seed) {
    std::mt19937_64 random{std::strtoull(seed.c_str(), nullptr, 10)};
    std::vector<std::string> ids;
    for (std::uint64_t number = 0;;) {
        std::vector<std::pair<std::string, std::future<bool>>> schedules, cancels;
        for (std::uint64_t i = 0; i <= random() % 8; ++i) {
            std::string id = seed + '-' + std::to_string(number++);
            auto const deadline = system_clock::now() + std::chrono::milliseconds{random() % 200};
            schedules.emplace_back(id, timer.schedule(id, deadline));
            ids.push_back(std::move(id));
            if (random() % 3 != 0) continue;
            std::string const& other = ids[random() % ids.size()];
            say("cancelling", other);
            cancels.emplace_back(other, timer.cancel(other));
        }
        for (auto& [id, answer] : schedules) {
            answer.get();
            say("scheduled", id);
        }
        for (auto& [id, answer] : cancels)
            if (answer.get()) say("cancelled", id);
    }
}

/// One change at a time, so that it is the same each time, but on a machine that is very busy.
void followTheCourse(std::string const& file) {
    auto const schedule = [](DurableTimer& timer, std::string const& id,
                             std::chrono::milliseconds delay, std::string payload = {}) {
        timer.schedule(id, system_clock::now() + delay, std::move(payload)).get();
        say("scheduled", id);
    };
    auto const cancel = [](DurableTimer& timer, std::string const& id) {
        say("cancelling", id);
        if (timer.cancel(id).get()) say("cancelled", id);
    };
    {
        DurableTimer timer{file, deliver};
        schedule(timer, "a", 5ms);
        waitUntilPending(timer, 0);
        schedule(timer, "b", 100ms);
        schedule(timer, "c", 150ms);
        timer.reschedule("c", system_clock::now() + 20ms).get();
        cancel(timer, "b");
        schedule(timer, "d", 100ms, std::string(20'000, 'x'));
    }
    {
        DurableTimer timer{file, deliver};
        waitUntilPending(timer, 1);
        schedule(timer, "e", 10ms);
        cancel(timer, "d");
        schedule(timer, "f", 10ms, std::string(20'000, 'x'));
        waitUntilPending(timer, 0);
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 3) return 2;
    std::string const file = arguments[1], task = arguments[2];
    if (count == 4) {
        timingwheel::test::killAt(std::strtoull(arguments[3], nullptr, 10), task == "half");
        followTheCourse(file);
        say("calls", std::to_string(timingwheel::test::callsUntilNow()));
        return 0;
    }
    DurableTimer timer{file, deliver};
    if (task == "finish")
        waitUntilPending(timer, 0);
    else
        changeAtRandom(timer, task);
}
