// The engine is the library's own wheel: nothing on this page knows where a task belongs, when a
// bucket expires or what cascades. This file asks it, the others draw what it tells.
"use strict";

const WHEEL_SIZE = 20;
const FLAT_SLOTS = 32;

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
  begin(scenario) {
    this.engine._storyBegin(WHEEL_SIZE, FLAT_SLOTS);
    SCENARIOS[scenario].tell({
      schedule: (delay) => this.engine._storySchedule(delay),
      scheduleExample: () => this.engine._storyScheduleExample(),
      wait: (ticks) => this.engine._storyWait(ticks),
    });
    this.frames = [];
    this.finish(0);
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
