// The engine is the library's own wheel: nothing on this page knows where a task belongs, when a
// bucket expires or what cascades. This file runs it and says times; the others draw its frames.
"use strict";

const $ = (id) => document.getElementById(id);
const grouped = (n) => n.toLocaleString("en-US");
const MAX_DELAY = 9999999;
/** Slots of a level: fewer make too many rings, more make slots that nobody can read. */
const SIZES = { least: 6, most: 64, levels: 8 };

/** The delays of what is scheduled. Where nothing else is said, 20 slots of a millisecond. */
const SCENARIOS = {
  one: { title: "one task, due in 25 ms", tasks: [25] },
  example: {
    title: "the worked example: nine tasks",
    tasks: [5, 19, 20, 25, 399, 400, 401, 8000, 123456],
  },
  empty: { title: "an empty wheel", tasks: [] },
  far: { title: "one task, due in two hours", tasks: [7199999] },
  again: { title: "a ring that is used again: at 10, due in 11 ms", wait: 10, tasks: [11] },
  twice: { title: "two buckets that expire at the same instant", first: 20, wait: 5, tasks: [15] },
  clock: {
    title: "levels as in a clock, at 9:15:40",
    sizes: [60, 60, 24],
    flatSlots: 60,
    start: 9 * 3600 + 15 * 60 + 40,
    tasks: [19, 25, 860, 31460, 33275, 164660],
  },
  crowd: { title: "a crowd in one bucket", tasks: [400, 401, 420, 439, 555, 640, 641, 799] },
};

/** How the story that is shown says its times: a tick is a millisecond, or a second of a clock. */
const times = { isClock: false };
/** A time: "8,499", or "9:16:05", of a later day "7:00:00 +1". */
function time(tick) {
  if (!times.isClock) return grouped(tick);
  const two = (n) => String(Math.floor(n) % 60).padStart(2, "0");
  const day = Math.floor(tick / 86400);
  const told = `${Math.floor((tick % 86400) / 3600)}:${two(tick / 60)}:${two(tick)}`;
  return day ? `${told} +${day}` : told;
}
/** How wide a slot is. */
function width(ticks) {
  const units = times.isClock ? { d: 86400, h: 3600, min: 60, s: 1 } : { s: 1000, ms: 1 };
  const [unit, length] = Object.entries(units).find(
    ([name, ticksOfIt]) => ticks % ticksOfIt === 0 && (times.isClock || name === "ms" || ticks > 9999),
  );
  return `${grouped(ticks / length)} ${unit}`;
}

const isOver = (task) => task.state === "ran" || task.state === "cancelled";

/** A task as the flat wheel has it: what is due runs before the levels have got to it. */
function flatTask(frame, i) {
  const task = frame.tasks[i];
  if (isOver(task) || frame.flat.entries.some((entry) => entry.task === i)) return task;
  return { ...task, state: "ran", endedAt: task.deadline };
}

/** The story so far and all that will follow from it: frames of the engine, always up to its end. */
class Teller {
  constructor(engine) {
    this.engine = engine;
  }
  /** `sizes`: slots of the levels, if not those of the scenario. */
  begin(scenario, sizes) {
    const told = { start: 0, sizes: [20], flatSlots: 32, ...SCENARIOS[scenario] };
    Object.assign(this, told, { sizes: sizes ?? told.sizes });
    times.isClock = told.start > 0;
    this.restart();
    if (told.first) this.tell("Schedule", told.first);
    if (told.wait) this.tell("Wait", told.wait);
    for (const delay of told.tasks) this.tell("Schedule", delay);
    this.finish();
  }
  restart() {
    for (const size of this.sizes) this.engine._storyLevel(size);
    this.engine._storyBegin(this.flatSlots, times.isClock ? 1 : 0, this.start);
    this.commands = [];
  }
  tell(what, argument = 0) {
    this.commands.push([what, argument]);
    return this.engine[`_story${what}`](argument);
  }
  /**
   * Tells the story again up to the frame `at`, then goes on otherwise. Returns the first new frame;
   * `forgot` says whether anything is left out that had been asked for after that one.
   */
  branch(at, what, argument) {
    const told = this.commands;
    this.restart();
    while (told.length && this.engine._storyCount() <= at) this.tell(...told.shift());
    this.forgot = told.some(([name]) => name !== "Wake");
    const kept = this.engine._storyCount();
    this.tell(what, argument);
    this.finish();
    return Math.min(kept, this.frames.length - 1);
  }
  finish() {
    while (this.tell("Wake"));
    this.frames = Array.from({ length: this.engine._storyCount() }, (_, i) =>
      JSON.parse(this.engine.UTF8ToString(this.engine._storyFrame(i))),
    );
    this.levels = Math.max(...this.frames.map((frame) => frame.levels.length));
  }
}
