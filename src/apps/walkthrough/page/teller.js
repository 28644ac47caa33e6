// The engine is the library's own wheel: nothing on this page knows where a task belongs, when a
// bucket expires or what cascades. This file asks it, the others draw what it tells.
"use strict";

const FLAT_SLOTS = 32;
/** Slots of a level: fewer make too many rings, more make slots that nobody can read. */
const SIZES = { least: 6, most: 64, levels: 8 };

/** Where nothing else is said, levels have 20 slots and a tick is a millisecond. */
const SCENARIOS = {
  one: { title: "one task, due in 25 ms", tell: (s) => s.schedule(25) },
  example: {
    title: "the worked example: nine tasks",
    tell: (s) => s.scheduleExample(),
  },
  empty: { title: "an empty wheel", tell: () => {} },
  far: { title: "one task, due in two hours", tell: (s) => s.schedule(7199999) },
  again: {
    title: "a ring that is used again: at 10, due in 11 ms",
    tell: (s) => {
      s.wait(10);
      s.schedule(11);
    },
  },
  twice: {
    title: "two buckets that expire at the same instant",
    tell: (s) => {
      s.schedule(20);
      s.wait(5);
      s.schedule(15);
    },
  },
  clock: {
    title: "levels as in a clock, at 9:15:40",
    sizes: [60, 60, 24],
    flatSlots: 60,
    isClock: true,
    start: (s) => s.clockStart(),
    tell: (s) => s.scheduleClock(),
  },
  crowd: {
    title: "a crowd in one bucket",
    tell: (s) => [400, 401, 420, 439, 555, 640, 641, 799].forEach(s.schedule),
  },
};

/** The story so far and all that will follow from it: frames of the engine, always up to its end. */
class Teller {
  constructor(engine) {
    this.engine = engine;
    this.maxDelay = engine._storyMaxDelay();
  }
  /** `sizes`: slots of the levels, if not those of the scenario. */
  begin(scenario, sizes) {
    const told = SCENARIOS[scenario];
    const story = {
      schedule: (delay) => this.engine._storySchedule(delay),
      scheduleExample: () => this.engine._storyScheduleExample(),
      clockStart: () => this.engine._storyClockStart(),
      scheduleClock: () => this.engine._storyScheduleClock(),
      wait: (ticks) => this.engine._storyWait(ticks),
    };
    this.sizes = sizes ?? told.sizes ?? [20];
    this.flatSlots = told.flatSlots ?? FLAT_SLOTS;
    setTimes(told.isClock ?? false);
    for (const size of this.sizes) this.engine._storyLevel(size);
    this.engine._storyBegin(this.flatSlots, times.isClock ? 1 : 0, told.start?.(story) ?? 0);
    told.tell(story);
    this.frames = [];
    this.finish(0);
  }
  /** Slots of a level, built or not: the last size is repeated. */
  sizeOf(level) {
    return this.sizes[Math.min(level, this.sizes.length - 1)];
  }
  /**
   * Does something after the frame `at`, and returns the first new frame. What had been asked for
   * after that one is forgotten; `forgot` says whether there was any such thing.
   */
  branch(at, command) {
    const kept = this.engine._storyTakeBackTo(at);
    this.forgot = this.frames
      .slice(kept)
      .some((frame) => ["schedule", "cancel", "wait"].includes(frame.stage));
    command(this.engine);
    this.finish(kept);
    return Math.min(kept, this.frames.length - 1);
  }
  finish(kept) {
    let count = 0;
    for (let more = this.engine._storyWake(); more !== count; more = this.engine._storyWake())
      count = more;
    this.frames.length = kept;
    for (let i = kept; i < count; ++i)
      this.frames.push(JSON.parse(this.engine.UTF8ToString(this.engine._storyFrame(i))));
    this.levels = Math.max(...this.frames.map((frame) => frame.levels.length));
  }
}
