// When the process ends before its timeouts do, and they must go on after the restart.

#include <timingwheel/ManualClock.h>
#include <timingwheel/SystemTimer.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

using namespace std::chrono_literals;

struct ShipOrder {
    std::string order;
    std::vector<std::string>* shipped;

    void operator()() const { shipped->push_back(order); }
};

struct Saved {
    std::string order;
    std::chrono::nanoseconds delay;
};

// What a service writes to its database: exactly the orders that will not be shipped any more.
std::vector<Saved> save(timingwheel::StoppedTimeouts const& stopped) {
    std::vector<Saved> saved;
    for (timingwheel::StoppedTimeout const& timeout : stopped)
        if (ShipOrder const* const task = timeout.target<ShipOrder>())
            saved.push_back({task->order, timeout.remaining()});
    std::ranges::sort(saved, {}, &Saved::delay);
    return saved;
}

int main() {
    timingwheel::ManualClock clock;
    std::vector<std::string> shipped;  // the tasks' own until their timer stops

    timingwheel::SystemTimer today{{.clock = clock}};
    today.newTimeout(ShipOrder{"bread", &shipped}, 10min);
    today.newTimeout(ShipOrder{"wine", &shipped}, 2h);
    today.newTimeout(ShipOrder{"a bicycle", &shipped}, 48h);
    clock.advance(30min);
    std::vector<Saved> const saved = save(today.stop());  // waits for tasks that are running

    timingwheel::SystemTimer tomorrow{{.clock = clock}};
    for (auto const& [order, delay] : saved) {
        auto const left = std::chrono::duration_cast<std::chrono::minutes>(delay);
        std::printf("%s: %d min to go\n", order.c_str(), static_cast<int>(left.count()));
        tomorrow.newTimeout(ShipOrder{order, &shipped}, delay);
    }
    clock.advance(48h);
    tomorrow.stop();

    for (std::string const& order : shipped) std::printf("shipped: %s\n", order.c_str());
    return shipped == std::vector<std::string>{"bread", "wine", "a bicycle"} ? 0 : 1;
}
