// What KilledTest.cpp kills: uses a file, and says of each change that it was confirmed, and of
// each delivery that it was made. With "finish" it ends when nothing is pending.

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

}  // namespace

int main(int count, char** arguments) {
    if (count < 3) return 2;
    std::string const task = arguments[2];
    DurableTimer timer{arguments[1], [](DurableTimeout const& timeout) {
                           say(system_clock::now() < timeout.deadline ? "early" : "delivered",
                               timeout.id);
                       }};
    if (task == "finish") {
        while (timer.pendingTimeouts() > 0) std::this_thread::sleep_for(1ms);
        return 0;
    }
    std::mt19937_64 random{std::strtoull(task.c_str(), nullptr, 10)};
    std::vector<std::string> ids;
    for (std::uint64_t number = 0;;) {
        std::vector<std::pair<std::string, std::future<bool>>> schedules, cancels;
        for (std::uint64_t i = 0; i <= random() % 8; ++i) {
            std::string id = task + '-' + std::to_string(number++);
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
