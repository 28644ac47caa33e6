// The rings, their hands and the discs.

const NARROW = matchMedia("(max-width: 35em)");
const discSize = () => (NARROW.matches ? 22 : 14);
/** What the slots' numbers take of a ring: on a phone, where few are shown, they are larger. */
const numberRoom = (depth) => (NARROW.matches ? Math.min(26, 0.4 * depth) : 18);
const levelColour = (level) => `--of: var(--level-${level % 8})`;

const CENTER = 360;
const MIDDLE = 76;
const RIM = 346;

function make(name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

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
    this.room = numberRoom(outer - inner);
    const style = NARROW.matches ? `font-size: ${(this.room - 2).toFixed(1)}px` : "";
    this.cells = [];
    this.numbers = [];
    for (let i = 0; i < slots; ++i) {
      const cell = make("path", {
        class: "slot",
        d: sector(inner, outer, i / slots, (i + 1) / slots),
      });
      const [x, y] = at(outer - this.room / 2, (i + 0.5) / slots);
      const isNarrow = (2 * Math.PI * outer) / slots < 22; // its number would touch the next one's
      const minor = this.isMajor(i) ? "" : isNarrow ? " minor crowded" : " minor";
      const number = make("text", { class: "number" + minor, x, y, style }, i);
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
  /** On a phone the others have no number. */
  isMajor(slot) {
    return slot % (this.slots % 5 ? 4 : 5) === 0;
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
    const isNumbered = !NARROW.matches || this.isMajor(slot);
    const depth = this.outer - this.inner - (isNumbered ? this.room : 6);
    const width = (2 * Math.PI * (this.inner + depth / 2)) / this.slots;
    // A disc that is alone may reach into the next slots, where those are narrow.
    const least = n === 1 ? 0.8 * discSize() : 0;
    const largest = Math.min(discSize(), depth / 2.2, Math.max(width / 2.1, least));
    let columns = 1;
    while (Math.ceil(n / columns) * (width / columns) > depth * 1.15 && columns < n) ++columns;
    const rows = Math.ceil(n / columns);
    const size = Math.min(largest, depth / rows / 2.1, Math.max(width / columns / 2.1, least));
    // Too small to be read: one disc for all of them, with their number.
    if (size < discSize() / 2)
      return {
        xy: at(this.inner + 3 + depth / 2, (slot + 0.5) / this.slots),
        size: Math.max(largest, 0.8 * discSize()),
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
  layOut(view, teller) {
    const levels = teller.levels;
    this.view = view;
    this.svg.replaceChildren();
    this.discs.clear();
    const rings = make("g", {});
    this.svg.append(rings);
    this.rings = [];
    this.ghosts = [];
    if (view === "flat") {
      this.rings.push(new Ring(rings, 190, RIM, teller.flatSlots, levelColour(0)));
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
        this.rings.push(new Ring(rings, inner, outer, teller.sizeOf(level), levelColour(level)));
      }
    }
    const [clock, unit, driver, until] = NARROW.matches ? [-30, 0, 26, 47] : [-14, 8, 30, 46];
    this.clock = make("text", { class: "clock", x: CENTER, y: CENTER + clock });
    this.driver = make("text", { class: "unit", x: CENTER, y: CENTER + driver });
    this.until = make("text", { class: "unit", x: CENTER, y: CENTER + until });
    this.svg.append(
      make("circle", { class: "middle", cx: CENTER, cy: CENTER, r: MIDDLE - 3 }),
      this.clock,
      make("text", { class: "unit", x: CENTER, y: CENTER + unit }, times.isClock ? "" : "ms"),
      this.driver,
      this.until,
    );
    this.caller = make("text", { class: "caller", x: 12, y: 26 });
    this.trail = make("path", { class: "trail", style: "display: none" });
    this.tasks = make("g", {});
    this.svg.append(this.caller, this.trail, this.tasks);
  }

  show(frame) {
    const now = time(frame.now);
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
