// When timeouts must survive the process: orders that cancel themselves in 30 minutes unless they
// are paid, through a restart.

#include <timingwheel/ManualClock.h>
#include <timingwheel/store/DurableTimer.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <latch>
#include <string>

using namespace std::chrono_literals;
using timingwheel::Clock;
using timingwheel::store::DurableTimeout;
using timingwheel::store::DurableTimer;

int main() {
    std::filesystem::path const file = "orders.db";
    std::filesystem::remove(file);
    // A program leaves `clock` alone: the default is the time of day. This one plays an afternoon.
    auto const start = std::chrono::sys_days{std::chrono::year{2026} / 3 / 27} + 15h;
    timingwheel::ManualClock clock{Clock::wallTime(start), Clock::Kind::wall};

    std::latch both{2};
    // At least once, so what it does must be harmless the second time: an order that is cancelled
    // stays so.
    auto const cancelOrder = [&](DurableTimeout const& order) {
        std::printf("%s: not paid, cancelled: %s\n", order.id.c_str(), order.payload.c_str());
        both.count_down();
    };
    {
        DurableTimer orders{file, cancelOrder, {.clock = clock}};
        // get() returns when the order is on the disk. Then the customer may be told.
        orders.schedule("order 1", start + 30min, "two books").get();
        orders.schedule("order 2", start + 30min, "a lamp").get();
        orders.schedule("order 3", start + 40min, "a chair").get();
        bool const inTime = orders.cancel("order 2").get();
        std::printf("order 2: %s\n", inTime ? "paid" : "paid too late");
    }
    std::puts("the machine is off for 20 minutes");
    clock.advance(20min);
    {
        DurableTimer orders{file, cancelOrder, {.clock = clock}};
        std::printf("%d orders are pending\n", static_cast<int>(orders.pendingTimeouts()));
        clock.advance(10min);
        clock.advance(10min);
        both.wait();
    }
    std::filesystem::remove(file);
}
