// What a frame of the story says, in words and numbers.

const $ = (id) => document.getElementById(id);
const grouped = (n) => n.toLocaleString("en-US");

/** How the story that is shown says its times: a tick is a millisecond, or a second of a clock. */
const times = { isClock: false, unit: "ms", units: "milliseconds" };
function setTimes(isClock) {
  Object.assign(times, {
    isClock,
    unit: isClock ? "s" : "ms",
    units: isClock ? "seconds" : "milliseconds",
  });
}
const twoDigits = (n) => String(n).padStart(2, "0");
/** A time: "8,499", or "9:16:05", of a later day "7:00:00 +1". */
function time(tick) {
  if (!times.isClock) return grouped(tick);
  const day = Math.floor(tick / 86400);
  const minute = Math.floor((tick % 86400) / 60);
  const told = `${Math.floor(minute / 60)}:${twoDigits(minute % 60)}:${twoDigits(tick % 60)}`;
  return day ? `${told} +${day}` : told;
}
/** The same where it stands alone. */
const moment = (tick) => (times.isClock ? time(tick) : `${grouped(tick)} ms`);
/** How wide a slot is. */
function width(ticks) {
  if (!times.isClock) return `${grouped(ticks)} ms`;
  for (const [length, unit] of [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
  ])
    if (ticks % length === 0) return `${grouped(ticks / length)} ${unit}`;
  return `${grouped(ticks)} s`;
}

const plural = (n, what) => `${grouped(n)} ${what}${n === 1 ? "" : "s"}`;

const isOver = (task) => task.state === "ran" || task.state === "cancelled";

/** A task as the flat wheel has it: what is due runs before the levels have got to it. */
function flatTask(frame, i) {
  const task = frame.tasks[i];
  if (isOver(task) || frame.flat.entries.some((entry) => entry.task === i)) return task;
  return { ...task, state: "ran", endedAt: task.deadline };
}

/** What the driver does, in two short lines. */
function driverState(frame) {
  const next = frame.heap[0]?.expiration;
  if (frame.tasks.some((task) => task.state === "flushed") || next <= frame.now)
    return ["awake", ""];
  return next === undefined ? ["asleep", ""] : ["asleep until", time(next)];
}

function handState(frame) {
  return ["the hand", frame.flat.entries.length ? "walks" : "stands still"];
}

/** The wheel in words, for those who do not see it. */
function describe(frame, view) {
  const names = (tasks) => tasks.map((i) => frame.tasks[i].name).join(", ") || "nobody";
  const told =
    view === "flat"
      ? frame.flat.entries.map((each) => `slot ${each.slot} holds ${names([each.task])}`)
      : frame.heap.map(
          (each) => `slot ${each.slot} of level ${each.level} holds ${names(each.tasks)}`,
        );
  return `The wheel at ${moment(frame.now)}: ${told.join("; ") || "empty"}.`;
}
