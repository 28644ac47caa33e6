// What a frame of the story says, in words and numbers.

const $ = (id) => document.getElementById(id);
const grouped = (n) => n.toLocaleString("en-US");
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
  return next === undefined ? ["asleep", ""] : ["asleep until", grouped(next)];
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
  return `The wheel at ${grouped(frame.now)} ms: ${told.join("; ") || "empty"}.`;
}
