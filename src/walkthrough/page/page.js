// Draws what the story tells. The engine is the library's own wheel: nothing here knows where a task
// belongs, when a bucket expires or what cascades.
"use strict";

const WHEEL_SIZE = 20;
const FLAT_SLOTS = 32;
const NARROW = matchMedia("(max-width: 35em)");
const discSize = () => (NARROW.matches ? 22 : 14);
const FLOW = ["schedule", "place", "arm", "wake", "cascade", "run"];

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

const $ = (id) => document.getElementById(id);
const grouped = (n) => n.toLocaleString("en-US");
const plural = (n, what) => `${grouped(n)} ${what}${n === 1 ? "" : "s"}`;

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
   * Does something after the frame `at`; returns the first new frame. What had been asked for after that
   * frame is forgotten, and tells whether there was any such thing in `forgot`.
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

// ---- drawing -----------------------------------------------------------------------------------

const CENTER = 360;
const MIDDLE = 76;
const RIM = 346;

function make(name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function html(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

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

const levelColour = (level) => `--of: var(--level-${level % 8})`;
const at = (radius, turn) => [
  CENTER + radius * Math.sin(2 * Math.PI * turn),
  CENTER - radius * Math.cos(2 * Math.PI * turn),
];
const point = ([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`;

/** A slot of a ring: from radius a to b, between two fractions of a turn. */
function sector(a, b, from, to) {
  const gap = 1.4 / (2 * Math.PI);
  return (
    `M${point(at(a, from + gap / a))}A${a} ${a} 0 0 1 ${point(at(a, to - gap / a))}` +
    `L${point(at(b, to - gap / b))}A${b} ${b} 0 0 0 ${point(at(b, from + gap / b))}Z`
  );
}

/** One ring of slots with numbers and a hand. */
class Ring {
  constructor(layer, inner, outer, slots, colour) {
    Object.assign(this, { inner, outer, slots });
    this.group = make("g", { style: colour });
    this.cells = [];
    this.numbers = [];
    for (let i = 0; i < slots; ++i) {
      const cell = make("path", {
        class: "slot",
        d: sector(inner, outer, i / slots, (i + 1) / slots),
      });
      const [x, y] = at(outer - 9, (i + 0.5) / slots);
      const minor = i % (slots % 5 ? 4 : 5) ? " minor" : "";
      const number = make("text", { class: "number" + minor, x, y }, i);
      this.cells.push(cell);
      this.numbers.push(number);
      this.group.append(cell, number);
    }
    this.hand = make("g", { class: "hand", style: `transform-origin: ${CENTER}px ${CENTER}px` });
    this.hand.append(
      make("line", { x1: CENTER, x2: CENTER, y1: CENTER - inner, y2: CENTER - outer }),
    );
    this.group.append(this.hand);
    this.turned = 0;
    layer.append(this.group);
  }
  /** `slotsUpTo`: how many slots the clock has passed since 0, so that a hand never turns back by itself. */
  show({ slotsUpTo, armed, left, target }) {
    const now = slotsUpTo % this.slots;
    this.cells.forEach((cell, i) => {
      cell.classList.toggle("armed", armed.has(i));
      cell.classList.toggle("now", i === now);
      cell.classList.toggle("left", i === left);
      cell.classList.toggle("target", i === target);
    });
    this.numbers.forEach((number, i) => number.classList.toggle("now", i === now));
    // At most a turn at once: what matters is where it stands.
    const forward = (now - (this.turned % this.slots) + this.slots) % this.slots;
    const isBack = slotsUpTo < (this.shownUpTo ?? 0);
    this.turned += isBack ? forward - (forward ? this.slots : 0) : forward;
    this.shownUpTo = slotsUpTo;
    this.hand.style.transform = `rotate(${(this.turned / this.slots) * 360}deg)`;
  }
  /** Where the i-th of n discs in a slot stands, and how large it is. */
  spot(slot, i, n) {
    const depth = this.outer - this.inner - 18;
    const width = (2 * Math.PI * (this.inner + depth / 2)) / this.slots;
    const largest = Math.min(discSize(), depth / 2.2, width / 2.1);
    let columns = 1;
    while (Math.ceil(n / columns) * (width / columns) > depth * 1.15 && columns < n) ++columns;
    const rows = Math.ceil(n / columns);
    const size = Math.min(largest, depth / rows / 2.1, width / columns / 2.1);
    // Too small to be read: one disc for all of them, with their number.
    if (size < discSize() / 2)
      return {
        xy: at(this.inner + 3 + depth / 2, (slot + 0.5) / this.slots),
        size: largest,
        count: n,
      };
    const row = Math.floor(i / columns);
    const column = i % columns;
    const radius = this.inner + 3 + (depth * (rows - row - 0.5)) / rows;
    const turn = (slot + (column + 0.5) / columns) / this.slots;
    return { xy: at(radius, turn), size };
  }
}

class Stage {
  constructor(svg) {
    this.svg = svg;
    this.discs = new Map();
  }
  /** Lays the rings out: for the levels that this story will need, or for the flat wheel. */
  layOut(view, levels) {
    this.view = view;
    this.svg.replaceChildren();
    this.discs.clear();
    const rings = make("g", {});
    this.svg.append(rings);
    this.rings = [];
    this.ghosts = [];
    if (view === "flat") {
      this.rings.push(new Ring(rings, 190, RIM, FLAT_SLOTS, levelColour(0)));
    } else {
      const shown = Math.max(levels, 2);
      const width = (RIM - MIDDLE) / shown;
      for (let level = 0; level < shown; ++level) {
        const inner = MIDDLE + 4 + level * width;
        const outer = MIDDLE + (level + 1) * width;
        const ghost = make("g", {});
        ghost.append(
          make("circle", { class: "ghost", cx: CENTER, cy: CENTER, r: outer }),
          make(
            "text",
            { class: "ghost-name", x: CENTER, y: CENTER - (inner + outer) / 2 + 4 },
            `level ${level}: not built yet`,
          ),
        );
        rings.append(ghost);
        this.ghosts.push(ghost);
        this.rings.push(new Ring(rings, inner, outer, WHEEL_SIZE, levelColour(level)));
      }
    }
    this.clock = make("text", { class: "clock", x: CENTER, y: CENTER - 14 });
    this.driver = make("text", { class: "unit", x: CENTER, y: CENTER + 30 });
    this.until = make("text", { class: "unit", x: CENTER, y: CENTER + 46 });
    this.svg.append(
      make("circle", { class: "middle", cx: CENTER, cy: CENTER, r: MIDDLE - 3 }),
      this.clock,
      make("text", { class: "unit", x: CENTER, y: CENTER + 8 }, "ms"),
      this.driver,
      this.until,
    );
    this.caller = make("text", { class: "caller", x: 12, y: 26 });
    this.trail = make("path", { class: "trail", style: "display: none" });
    this.tasks = make("g", {});
    this.svg.append(this.caller, this.trail, this.tasks);
  }

  show(frame) {
    const now = grouped(frame.now);
    this.clock.textContent = now;
    this.clock.setAttribute("style", now.length > 9 ? "font-size: 19px" : "");
    const [driver, until] = this.view === "flat" ? handState(frame) : driverState(frame);
    this.driver.textContent = driver;
    this.until.textContent = until;
    this.svg.setAttribute("aria-label", describe(frame, this.view));
    for (const [task, disc] of this.discs)
      if (task >= frame.tasks.length) {
        disc.remove();
        this.discs.delete(task);
      }
    if (this.view === "flat") this.showFlat(frame);
    else this.showLevels(frame);
  }

  showLevels(frame) {
    const places = new Map();
    this.rings.forEach((ring, number) => {
      const level = frame.levels[number];
      ring.group.style.display = level ? "" : "none";
      this.ghosts[number].style.display = level ? "none" : "";
      if (!level) return;
      for (const bucket of level.buckets)
        bucket.tasks.forEach((task, i) =>
          places.set(task, {
            ...ring.spot(bucket.slot, i, bucket.tasks.length),
            colour: levelColour(number),
            place: `${number}:${bucket.slot}@${bucket.expiration}`,
          }),
        );
      ring.show({
        slotsUpTo: Math.floor(level.clock / level.granularity),
        armed: new Set(level.buckets.map((bucket) => bucket.slot)),
        left: frame.from?.level === number ? frame.from.slot : -1,
        target: frame.to?.level === number ? frame.to.slot : -1,
      });
    });
    const middle = frame.tasks
      .map((task, i) => i)
      .filter((i) => frame.tasks[i].state === "flushed");
    const from = frame.from ?? this.lastFrom;
    this.lastFrom = from;
    frame.tasks.forEach((task, i) =>
      this.showDisc(
        frame,
        task,
        i,
        places.get(i) ?? this.outside(task, middle.indexOf(i), middle.length, from),
      ),
    );
    this.showTrail(frame, places);
    this.tellCaller(frame, places);
  }

  showFlat(frame) {
    const ring = this.rings[0];
    const bySlot = new Map();
    for (const entry of frame.flat.entries)
      bySlot.set(entry.slot, [...(bySlot.get(entry.slot) ?? []), entry]);
    const places = new Map();
    for (const [slot, entries] of bySlot)
      entries.forEach((entry, i) =>
        places.set(entry.task, {
          ...ring.spot(slot, i, entries.length),
          colour: levelColour(0),
          place: `${slot}+${entry.rounds}`,
          rounds: entry.rounds,
        }),
      );
    ring.show({ slotsUpTo: frame.flat.clock, armed: new Set(bySlot.keys()), left: -1, target: -1 });
    const flown = { xy: [CENTER, CENTER + 110], size: discSize(), colour: levelColour(0) };
    frame.tasks.forEach((task, i) =>
      this.showDisc(frame, flatTask(frame, i), i, places.get(i) ?? flown),
    );
    this.caller.textContent = "";
  }

  /** Taken out of a bucket, run, or not placed yet. */
  outside(task, i, n, from) {
    if (task.state === "queued") return { xy: [40, 60], size: discSize(), colour: levelColour(0) };
    const colour = levelColour(from?.level ?? 0);
    if (task.state === "flushed") {
      const step = Math.min(NARROW.matches ? 0.115 : 0.075, 0.96 / n);
      const size = Math.min(discSize(), Math.PI * step * (MIDDLE - 4));
      return { xy: at(MIDDLE - 4, 0.5 + (i - (n - 1) / 2) * step), size, colour };
    }
    return { xy: at(MIDDLE - 16, 0), size: discSize(), colour };
  }

  /** The way of a task that was moved just now. */
  showTrail(frame, places) {
    const isMove = frame.stage === "cascade" && places.has(frame.task);
    this.trail.style.display = isMove ? "" : "none";
    if (!isMove) return;
    const from = this.rings[frame.from.level].spot(frame.from.slot, 0, 1).xy;
    const to = places.get(frame.task).xy;
    this.trail.setAttribute("d", `M${point(from)}Q${CENTER} ${CENTER} ${point(to)}`);
    this.trail.setAttribute("style", levelColour(frame.to.level));
  }

  tellCaller(frame, places) {
    const waiting = frame.tasks.some((task, i) => task.state === "queued" && !places.has(i));
    this.caller.textContent = waiting ? "the caller's thread" : "";
  }

  showDisc(frame, task, i, { xy, size, colour, place, rounds, count }) {
    let disc = this.discs.get(i);
    if (!disc) {
      disc = make("g", { "data-task": i });
      disc.append(
        make("circle", {}),
        make("text", {}, task.name),
        make("text", { class: "rounds" }),
      );
      this.discs.set(i, disc);
      this.tasks.append(disc);
    }
    const isTold = frame.task === i;
    const over = isOver(task);
    disc.setAttribute(
      "class",
      `task ${task.state}${isTold ? " told" : ""}${over && !(isTold && this.view === "levels") ? " hidden" : ""}`,
    );
    disc.setAttribute("data-place", place ?? task.state);
    // The colours of what has ended come from the class.
    disc.setAttribute("style", over ? "" : colour);
    disc.style.transform = `translate(${xy[0].toFixed(1)}px, ${xy[1].toFixed(1)}px)`;
    const [circle, name, badge] = disc.children;
    circle.setAttribute("r", size.toFixed(1));
    name.textContent = count ?? task.name;
    name.setAttribute("style", `font-size: ${(size * 1.05).toFixed(1)}px`);
    badge.textContent = rounds && !count && size > 10 ? grouped(rounds) : "";
    badge.setAttribute("y", (size + 9).toFixed(1));
  }
}

// ---- the panels --------------------------------------------------------------------------------

/** Of the level that a task stands on, or has just been taken from. */
function colourOf(frame, view, i) {
  if (view === "flat") return levelColour(0);
  const bucket = frame.heap.find((each) => each.tasks.includes(i)) ?? frame.from;
  return levelColour(bucket?.level ?? 0);
}

const dot = (frame, i, colour) =>
  html("span", { class: "dot", style: colour }, frame.tasks[i].name);

function showHeap(frame) {
  const rows = frame.heap.map((bucket) =>
    html(
      "li",
      { style: levelColour(bucket.level) },
      html("b", {}, grouped(bucket.expiration)),
      html("span", {}, `level ${bucket.level}, slot ${bucket.slot}`),
      html(
        "span",
        { class: "dots" },
        ...(bucket.tasks.length
          ? bucket.tasks.map((i) => dot(frame, i, levelColour(bucket.level)))
          : ["emptied"]),
      ),
    ),
  );
  const isAtWork = frame.tasks.some((task) => task.state === "flushed");
  const why = isAtWork
    ? "the driver is at work on what it took out"
    : "the driver sleeps until somebody calls";
  if (!rows.length) rows.push(html("li", { class: "none" }, `Empty: ${why}.`));
  const next = frame.heap.slice(0, 4).map((bucket) => grouped(bucket.expiration));
  $("upcoming").textContent =
    `Delay heap: ${next.join(" · ") || "empty"}${frame.heap.length > 4 ? " …" : ""}`;
  $("heap").replaceChildren(...rows);
}

function showLevelList(view, frame) {
  const items =
    view === "flat"
      ? [
          html(
            "li",
            { style: levelColour(0) },
            html("b", {}, `${FLAT_SLOTS} slots of 1 ms`),
            html("span", {}, `the hand is in slot ${frame.flat.clock % FLAT_SLOTS}`),
          ),
        ]
      : frame.levels.map((level, i) =>
          html(
            "li",
            { style: levelColour(i) },
            html("b", {}, `level ${i}`),
            html(
              "span",
              {},
              html("span", { class: "more" }, `${WHEEL_SIZE} × `),
              `${grouped(level.granularity)} ms`,
              html(
                "span",
                { class: "more" },
                `, up to ${grouped(level.clock + level.interval - 1)}`,
              ),
            ),
          ),
        );
  $("levels").replaceChildren(...items);
}

function whereIs(frame, view, i) {
  const task = view === "flat" ? flatTask(frame, i) : frame.tasks[i];
  if (task.state === "ran") return `ran at ${grouped(task.endedAt)}`;
  if (task.state === "cancelled") return `cancelled at ${grouped(task.endedAt)}`;
  if (view === "flat") {
    const entry = frame.flat.entries.find((each) => each.task === i);
    return `slot ${entry.slot}, ${plural(entry.rounds, "round")} to go`;
  }
  if (task.state === "flushed") return "taken out";
  const bucket = frame.heap.find((each) => each.tasks.includes(i));
  return bucket ? `level ${bucket.level}, slot ${bucket.slot}` : "being placed";
}

function makeTaskRow(task, i, cancel) {
  const button = html("button", { type: "button", "aria-label": `Cancel ${task.name}` }, "cancel");
  button.addEventListener("click", () => cancel(i));
  const cells = [html("span", {}, task.name), "", "", "", button].map((each) =>
    html("td", {}, each),
  );
  return html("tr", {}, ...cells);
}

/** Rows stay as long as their tasks do, so that a button is there when a finger comes down on it. */
function showTasks(frame, view, cancel) {
  const table = $("tasks");
  while (table.rows.length > frame.tasks.length) table.lastChild.remove();
  frame.tasks.forEach((told, i) => {
    const row = table.rows[i] ?? table.appendChild(makeTaskRow(told, i, cancel));
    const task = view === "flat" ? flatTask(frame, i) : told;
    const [name, due, where, moves, button] = row.cells;
    row.className = isOver(task) ? "ended" : "";
    name.firstChild.className = `dot ${isOver(task) ? task.state : ""}`;
    name.firstChild.setAttribute("style", isOver(task) ? "" : colourOf(frame, view, i));
    due.textContent = grouped(task.deadline);
    where.textContent = whereIs(frame, view, i);
    moves.textContent = view === "flat" ? "–" : task.cascades;
    const isPending = told.state === "queued" && frame.heap.some((each) => each.tasks.includes(i));
    button.firstChild.hidden = !isPending;
  });
}

function showCosts(frame) {
  $("wake-ups").textContent = grouped(frame.wakeUps);
  $("cascades").textContent = grouped(frame.cascades);
  $("ticks-walked").textContent = grouped(frame.flat.ticksWalked);
  $("passed-over").textContent = grouped(frame.flat.passedOver);
}

function showFlow(frame) {
  $("flow").replaceChildren(
    ...FLOW.map((stage) => html("li", { class: stage === frame.stage ? "now" : "" }, stage)),
    ...(FLOW.includes(frame.stage) || frame.stage === "begin"
      ? []
      : [html("li", { class: "now" }, frame.stage)]),
  );
}

// ---- the player --------------------------------------------------------------------------------

class Player {
  constructor(teller) {
    this.teller = teller;
    this.stage = new Stage($("rings"));
    this.view = "levels";
    this.timer = null;
  }
  start(scenario) {
    this.pause();
    $("note").textContent = $("problem").textContent = "";
    $("scenario").value = scenario;
    history.replaceState(null, "", `#${scenario}`);
    this.teller.begin(scenario);
    this.layOut();
    this.go(0);
  }
  layOut() {
    this.laidOut = this.teller.levels;
    this.stage.layOut(this.view, this.teller.levels);
  }
  get frame() {
    return this.teller.frames[this.at];
  }
  get last() {
    return this.teller.frames.length - 1;
  }

  go(to) {
    this.at = Math.max(0, Math.min(to, this.last));
    if (this.laidOut !== this.teller.levels) this.layOut();
    const frame = this.frame;
    this.stage.show(frame);
    showHeap(frame);
    showLevelList(this.view, frame);
    showTasks(frame, this.view, this.cancel);
    showCosts(frame);
    showFlow(frame);
    const told = this.view === "flat" ? this.flatSentence() : frame.sentence;
    const hint = this.at === 0 && this.last > 0 ? " Press play, or go on step by step." : "";
    const isEnd = this.at === this.last && !frame.heap.length && this.last > 0;
    $("sentence").textContent = told + hint + (isEnd ? " Nothing is pending any more." : "");
    $("scrub").max = this.last;
    $("scrub").value = this.at;
    $("scrub").setAttribute(
      "aria-valuetext",
      `step ${this.at} of ${this.last}, at ${grouped(frame.now)} ms`,
    );
    $("where").textContent = `${this.at} of ${this.last}`;
    $("back").setAttribute("aria-disabled", String(this.at === 0));
    for (const each of ["step", "next"])
      $(each).setAttribute("aria-disabled", String(this.at === this.last));
    Object.assign(document.body.dataset, {
      view: this.view,
      stage: frame.stage,
      now: frame.now,
      at: this.at,
      last: this.last,
    });
    if (this.at === this.last) this.pause();
  }
  /** What the flat wheel did last: it has no part in most steps of the levels. */
  flatSentence() {
    const frames = this.teller.frames.slice(0, this.at + 1);
    return (
      frames.reverse().find((frame) => frame.flatSentence)?.flatSentence ?? this.frame.sentence
    );
  }
  /** To the next frame that tells something in this view, forwards or backwards. */
  step(by) {
    const { frames } = this.teller;
    let to = this.at + by;
    while (this.view === "flat" && to > 0 && to < this.last && !frames[to].flatSentence) to += by;
    this.go(to);
  }
  /** To the frame that tells of the next wake-up, and past it what it brings. */
  next() {
    let to = this.at + 1;
    while (to < this.last && this.teller.frames[to].stage !== "wake") ++to;
    this.go(to);
  }
  change(command) {
    this.pause();
    const from = this.at;
    this.go(this.teller.branch(this.at, command));
    $("scenario").value = "own";
    $("note").textContent = this.teller.forgot
      ? `The story goes on from step ${from} now. What was asked for after that is forgotten.`
      : "";
  }
  cancel = (task) => {
    this.change((engine) => engine._storyCancel(task));
    (document.querySelector("#tasks button:not([hidden])") ?? $("step")).focus();
  };
  show(view) {
    this.view = view;
    for (const each of ["levels", "flat"])
      $(`view-${each}`).setAttribute("aria-pressed", String(each === view));
    this.layOut();
    this.go(this.at);
  }
  get isPlaying() {
    return this.timer !== null;
  }
  play() {
    if (this.at === this.last) this.go(0);
    $("play").setAttribute("aria-label", "Pause");
    $("play-icon").setAttribute("d", "M6 5h4v14H6zM14 5h4v14h-4z");
    const tick = () => {
      this.step(1);
      if (this.isPlaying) this.timer = setTimeout(tick, this.pauseAfter());
    };
    this.timer = setTimeout(tick, 250);
  }
  pauseAfter() {
    return (900 + 20 * $("sentence").textContent.length) / Number($("speed").value);
  }
  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    $("play").setAttribute("aria-label", "Play");
    $("play-icon").setAttribute("d", "M7 4v16l13-8z");
  }
  toggle() {
    if (this.isPlaying) this.pause();
    else this.play();
  }
}

// ---- what the reader does ----------------------------------------------------------------------

/** The number in the field; throws what is wrong with it. */
function readDelay(least, most) {
  const written = $("delay").value.replace(/[\s,_']/g, "");
  const value = Number(written);
  if (!/^\d+$/.test(written) || value < least || value > most)
    throw new RangeError(
      `${$("delay").value.trim() || "Nothing"} is not a whole number of milliseconds from ${least} to ${grouped(most)}.`,
    );
  return value;
}

function listen(player) {
  const byHand = (action) => () => {
    player.pause();
    action();
  };
  const perform = (least, command) => {
    try {
      const delay = readDelay(least, player.teller.maxDelay);
      $("problem").textContent = "";
      $("delay").removeAttribute("aria-invalid");
      player.change((engine) => command(engine, delay));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      $("problem").textContent = error.message;
      $("delay").setAttribute("aria-invalid", "true");
    }
  };
  const back = byHand(() => player.step(-1));
  const step = byHand(() => player.step(1));
  const next = byHand(() => player.next());
  const view = (name) => () => player.show(name);
  $("back").addEventListener("click", back);
  $("step").addEventListener("click", step);
  $("next").addEventListener("click", next);
  $("play").addEventListener("click", () => player.toggle());
  $("scrub").addEventListener(
    "input",
    byHand(() => player.go(Number($("scrub").value))),
  );
  $("view-levels").addEventListener("click", view("levels"));
  $("view-flat").addEventListener("click", view("flat"));
  $("add").addEventListener("submit", (event) => {
    event.preventDefault();
    perform(0, (engine, delay) => engine._storySchedule(delay));
  });
  $("wait").addEventListener("click", () =>
    perform(1, (engine, delay) => engine._storyWait(delay)),
  );
  NARROW.addEventListener("change", () => player.go(player.at));
  $("scenario").addEventListener("change", () => player.start($("scenario").value));

  const keys = {
    ArrowRight: step,
    ArrowLeft: back,
    " ": () => player.toggle(),
    n: next,
    a: () => {
      $("delay").focus();
      $("delay").select();
    },
    v: () => player.show(player.view === "flat" ? "levels" : "flat"),
    Home: byHand(() => player.go(0)),
    End: byHand(() => player.go(player.last)),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (
      event.target.closest("input:not([type=range]), select") ||
      (event.key === " " && event.target.closest("button"))
    )
      return;
    const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

function explainColours() {
  const dots = [];
  for (let level = 0; level < 4; ++level)
    dots.push(html("span", { class: "dot", style: levelColour(level) }, String(level)), " ");
  $("colours").replaceChildren(...dots, "and so on");
}

loadWheel().then((engine) => {
  for (const [name, { title }] of Object.entries(SCENARIOS))
    $("scenario").append(html("option", { value: name }, title));
  $("scenario").append(html("option", { value: "own", hidden: "" }, "a story of your own"));
  explainColours();
  const player = new Player(new Teller(engine));
  const startAsAsked = () => {
    const asked = location.hash.slice(1);
    player.start(asked in SCENARIOS ? asked : "one");
  };
  listen(player);
  addEventListener("hashchange", startAsAsked);
  startAsAsked();
  document.body.dataset.ready = "yes";
});
