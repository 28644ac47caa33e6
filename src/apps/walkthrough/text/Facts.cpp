#include "apps/walkthrough/text/Facts.h"

#include "apps/walkthrough/Example.h"
#include "apps/walkthrough/Json.h"
#include "apps/walkthrough/JsonWriter.h"
#include "apps/walkthrough/Story.h"
#include "apps/walkthrough/text/Ways.h"

#include <timingwheel/ManualClock.h>
#include <timingwheel/ManualTimer.h>
#include <timingwheel/wheel/TimingWheel.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

namespace walkthrough {

namespace {

using timingwheel::Tick;
using timingwheel::TimerTaskEntry;
using Wheel = timingwheel::TimingWheel<TimerTaskEntry>;

constexpr std::int64_t kWheelSize = 20;

void write(JsonWriter& json, std::string_view name, Story const& story) {
    json.key(name).open('[');
    for (Frame const& frame : story.frames()) json.raw(toJson(frame));
    json.close(']');
}

void writePlace(JsonWriter& json, std::int64_t now, timingwheel::TimerTaskList const& bucket) {
    json.open('{')
        .member("now", now)
        .member("level", std::int64_t{bucket.level()})
        .member("slot", std::int64_t{bucket.slot()})
        .member("expiration", bucket.expiration())
        .close('}');
}

/// Drives a wheel that holds one entry: where it was placed at which time, and when it ran.
void writeWay(JsonWriter& json, std::string_view name, Wheel& wheel, TimerTaskEntry& entry,
              timingwheel::Placement placement) {
    json.key(name).open('{').key("places").open('[');
    std::int64_t now = wheel.currentTick().value();
    while (!placement.isDue()) {
        writePlace(json, now, placement.bucket());
        now = wheel.raw().flush(*wheel.nextExpiration())->expiration.value();
        placement = wheel.raw().place(wheel.raw().takeFlushed());
    }
    json.close(']').member("ran", now).member("deadline", entry.deadline().value()).close('}');
}

void moveDeadline(TimerTaskEntry& entry, Tick deadline) {
    entry.word().store(TimerTaskEntry::pack(deadline, 0), std::memory_order_relaxed);
}

// ---- the stories -------------------------------------------------------------------------------

void runAll(Story& story) {
    while (story.wake()) {
    }
}

void writeStories(JsonWriter& json) {
    json.key("stories").open('{');
    Story example;
    tellExample(example);
    write(json, "example", example);

    Story flat{{.flatSlots = 8}};
    flat.schedule(3);
    flat.schedule(10);
    runAll(flat);
    write(json, "flat", flat);

    Story clock{clockOptions()};
    tellClock(clock);
    write(json, "clock", clock);

    Story again;
    again.wait(10);
    again.schedule(11);
    runAll(again);
    write(json, "again", again);

    Story twice;
    twice.schedule(20);
    twice.wait(5);
    twice.schedule(15);
    runAll(twice);
    write(json, "twice", twice);

    Story idle;
    idle.wait(1'000'000);
    idle.schedule(25);
    runAll(idle);
    write(json, "idle", idle);

    Story cancelled;
    cancelled.schedule(25);
    cancelled.schedule(30);
    cancelled.cancel(0);
    cancelled.cancel(1);
    runAll(cancelled);
    write(json, "cancelled", cancelled);
    json.close('}');
}

// ---- the wheel alone ---------------------------------------------------------------------------

/// The idle story's task on a wheel whose clock nobody moved meanwhile.
void writeLeftBehind(JsonWriter& json) {
    Wheel wheel{{.wheelSize = kWheelSize}};
    TimerTaskEntry entry;
    writeWay(json, "leftBehind", wheel, entry, wheel.add(entry, Tick{1'000'025}));
}

/// An entry whose deadline is moved later while it is queued, as a timer's reschedule does.
void writePushedBack(JsonWriter& json) {
    Wheel wheel{{.wheelSize = kWheelSize}};
    wheel.raw().reserve(Tick{kWheelSize * kWheelSize - 1});
    TimerTaskEntry entry;
    timingwheel::Placement const placement = wheel.add(entry, Tick{25});
    json.member("pushedFrom", entry.deadline().value());
    moveDeadline(entry, Tick{70});
    writeWay(json, "pushedBack", wheel, entry, placement);
}

/// An entry beyond the existing levels, for which nobody built one.
void writeBeyond(JsonWriter& json) {
    Wheel wheel{{.wheelSize = kWheelSize}};
    TimerTaskEntry entry;
    moveDeadline(entry, Tick{50});
    writeWay(json, "beyond", wheel, entry, wheel.raw().place(entry));
}

/// All levels that any deadline needs.
void writeLevels(JsonWriter& json) {
    Wheel wheel{{.wheelSize = kWheelSize}};
    TimerTaskEntry entry;
    static_cast<void>(wheel.add(entry, Tick::max()));
    json.key("levels").open('[');
    for (auto const& level : wheel.levels())
        json.open('{')
            .member("granularity", level.granularity())
            .member("interval", level.interval())
            .close('}');
    json.close(']').member("maxTick", Tick::max().value());
    wheel.cancel(entry);
}

/// Which deadlines the slots of level 0 take when the clock has gone half way round.
void writeRing(JsonWriter& json) {
    constexpr std::int64_t kClock = 10;
    Wheel wheel{{.wheelSize = kWheelSize}};
    wheel.raw().advanceClock(Tick{kClock});
    std::deque<TimerTaskEntry> entries(kWheelSize);
    json.key("ring").open('[');
    for (std::int64_t delay = 1; delay < kWheelSize; ++delay) {
        auto& entry = entries[static_cast<std::size_t>(delay)];
        timingwheel::Placement const placement = wheel.add(entry, Tick{kClock + delay});
        writePlace(json, kClock, placement.bucket());
    }
    json.close(']').member("ringClock", kClock);
    for (TimerTaskEntry& entry : entries) wheel.cancel(entry);
}

// ---- counted -----------------------------------------------------------------------------------

/// Every delay that four levels hold, all at once: how often each task is moved.
void writeMoves(JsonWriter& json) {
    struct Entry : TimerTaskEntry {
        std::uint32_t level = 0;
        std::uint32_t moves = 0;
    };
    struct OfLevel {
        std::int64_t tasks = 0;
        std::int64_t moves = 0;
        std::int64_t most = 0;
    };
    constexpr std::int64_t kReach = kWheelSize * kWheelSize * kWheelSize * kWheelSize;
    timingwheel::TimingWheel<Entry> wheel{{.wheelSize = kWheelSize}};
    std::deque<Entry> entries(kReach - 1);
    for (std::int64_t delay = 1; delay < kReach; ++delay) {
        Entry& entry = entries[static_cast<std::size_t>(delay - 1)];
        timingwheel::Placement const placement = wheel.add(entry, Tick{delay});
        if (!placement.isDue()) entry.level = placement.bucket().level();
    }
    std::int64_t wakeUps = 0;
    while (auto const next = wheel.nextExpiration()) {
        ++wakeUps;
        while (wheel.raw().flush(*next))
            while (wheel.raw().hasFlushed()) {
                auto& entry = static_cast<Entry&>(wheel.raw().takeFlushed());
                if (!wheel.raw().place(entry).isDue()) ++entry.moves;
            }
    }
    std::vector<OfLevel> levels(wheel.levels().size());
    for (Entry const& entry : entries) {
        OfLevel& level = levels[entry.level];
        ++level.tasks;
        level.moves += entry.moves;
        level.most = std::max(level.most, std::int64_t{entry.moves});
    }
    json.key("moves").open('[');
    for (OfLevel const& level : levels)
        json.open('{')
            .member("tasks", level.tasks)
            .member("moves", level.moves)
            .member("most", level.most)
            .close('}');
    json.close(']').member("movesWakeUps", wakeUps);
}

void writeCosts(JsonWriter& json, std::string_view name, Load const& load) {
    json.key(name).open('[');
    for (Cost const& cost : allWays(load))
        json.open('{')
            .member("way", std::string_view{cost.way})
            .member("tasks", cost.tasks)
            .member("cancelled", cost.cancelled)
            .member("onTime", cost.onTime)
            .member("threads", cost.threads)
            .member("slots", cost.slots)
            .member("comparisons", cost.comparisons)
            .member("lookedAt", cost.lookedAt)
            .member("moves", cost.moves)
            .member("wakeUps", cost.wakeUps)
            .close('}');
    json.close(']');
}

void writeWays(JsonWriter& json) {
    constexpr std::int64_t kLongest = 100'000;
    json.key("ways").open('{');
    writeCosts(json, "example", {{kExampleDelays.begin(), kExampleDelays.end()}});
    writeCosts(json, "thousand", {spreadDelays(1'000, kLongest)});
    writeCosts(json, "tenThousand", {spreadDelays(10'000, kLongest)});
    writeCosts(json, "mostlyCancelled", {spreadDelays(10'000, kLongest), 10});
    json.close('}').member("waysLongest", kLongest);
}

/// Timeouts on a real timer: what their deadline became, and when they ran.
void writeRounding(JsonWriter& json) {
    using namespace std::chrono_literals;
    using std::chrono::microseconds;
    struct Asked {
        microseconds tick, now, delay;
    };
    json.key("rounding").open('[');
    for (Asked const& asked : {Asked{1ms, 400us, 5ms}, Asked{1ms, 400us, 4'600us},
                               Asked{10ms, 3ms, 12ms}, Asked{10ms, 19ms, 1ms}}) {
        timingwheel::ManualClock clock;
        timingwheel::ManualTimer timer{{.tick = asked.tick, .clock = clock}};
        auto const start = clock.now();
        auto const micros = [&](auto time) {
            return std::int64_t{std::chrono::duration_cast<microseconds>(time - start).count()};
        };
        clock.advance(asked.now);
        std::int64_t ran = -1;
        auto const timeout = timer.newTimeout([&] { ran = micros(clock.now()); }, asked.delay);
        while (ran < 0) {
            clock.advance(100us);
            timer.advanceTo(clock.now());
        }
        json.open('{')
            .member("tick", std::int64_t{asked.tick.count()})
            .member("now", std::int64_t{asked.now.count()})
            .member("delay", std::int64_t{asked.delay.count()})
            .member("deadline", micros(timeout.deadline()))
            .member("ran", ran)
            .close('}');
    }
    json.close(']');
}

}  // namespace

std::string facts() {
    JsonWriter json;
    json.open('{').member("wheelSize", kWheelSize).key("clockSizes").open('[');
    for (std::int64_t const size : kClockSizes) json.value(size);
    json.close(']');
    writeStories(json);
    writeLeftBehind(json);
    writePushedBack(json);
    writeBeyond(json);
    writeLevels(json);
    writeRing(json);
    writeMoves(json);
    writeWays(json);
    writeRounding(json);
    return json.close('}').take();
}

}  // namespace walkthrough
