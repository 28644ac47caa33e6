// When people look at the buckets: seconds, minutes, hours and days instead of powers of 20.

#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/wheel/TimingWheel.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

using namespace std::chrono_literals;
using timingwheel::Tick;

// A parked car whose ticket runs out.
struct Ticket : timingwheel::TimerTaskEntry {};

constexpr Tick timeOfDay(int hour, int minute, int second) {
    return Tick{(std::int64_t{hour} * 60 + minute) * 60 + second};
}

int main() {
    std::vector<std::int64_t> const kClock{60, 60, 24, 7};  // and weeks above these

    // A wheel of your own: ticks are seconds since midnight, so slots are what a clock shows.
    std::array<Ticket, 5> tickets;  // outlive the wheel
    timingwheel::TimingWheel<Ticket> wheel{{.levelSizes = kClock, .start = timeOfDay(9, 15, 40)}};
    auto const park = [&](Ticket& ticket, Tick until) {
        if (wheel.add(ticket, until).isDue()) std::puts("over already");
    };
    park(tickets[0], timeOfDay(9, 15, 59));
    park(tickets[1], timeOfDay(9, 30, 0));
    park(tickets[2], timeOfDay(18, 0, 0));
    park(tickets[3], timeOfDay(18, 45, 0));
    park(tickets[4], timeOfDay(24 + 7, 0, 0));
    constexpr std::array kUnits{"second", "minute", "hour", "day"};
    for (timingwheel::TimingWheelLevel const& level : wheel.levels())
        for (timingwheel::TimerTaskList const& bucket : level.buckets())
            if (!bucket.empty())
                std::printf("%s %u: %zu\n", kUnits[level.number()], bucket.slot(),
                            bucket.entries().size());

    // A timer: its clock knows nothing of midnight, so it is told when that was.
    timingwheel::ManualClock clock;  // std::chrono::steady_clock's time, in a program
    auto const sinceMidnight = 9h + 15min + 40s;
    timingwheel::ManualTimer timer{
        {.tick = 1s, .levelSizes = kClock, .start = clock.now() - sinceMidnight, .clock = clock}};
    // What may be late by an hour runs at the full hour, with all others that may.
    timer.newTimeout([] { std::puts("the report, at 11:00:00"); }, 1h, {.tolerance = 1h});
    clock.advance(1h + 44min + 19s);
    std::puts("10:59:59");
    clock.advance(1s);
}
