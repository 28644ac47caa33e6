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
    Object.assign(this, { inner, outer, slots, turned: 0, cells: [], numbers: [] });
    this.group = make("g", { style: colour });
    this.room = numberRoom(outer - inner);
    const style = NARROW.matches ? `font-size: ${Math.min(this.room - 2, 18.5).toFixed(1)}px` : "";
    for (let i = 0; i < slots; ++i) {
      const d = sector(inner, outer, i / slots, (i + 1) / slots);
      const [x, y] = at(outer - this.room / 2, (i + 0.5) / slots);
      // On a phone only some have a number; nowhere has one that would touch the next.
      const isMajor = i % (slots % 5 ? 4 : 5) === 0;
      const isNarrow = (2 * Math.PI * outer) / slots < 22;
      const minor = isMajor ? "" : isNarrow ? " minor crowded" : " minor";
      this.cells.push(make("path", { class: "slot", d }));
      this.numbers.push(make("text", { class: "number" + minor, x, y, style }, i));
      this.group.append(this.cells[i], this.numbers[i]);
    }
    this.hand = make("g", { class: "hand", style: `transform-origin: ${CENTER}px ${CENTER}px` });
    this.hand.append(make("path", { d: `M${CENTER} ${CENTER - inner}V${CENTER - outer}` }));
    this.group.append(this.hand);
    layer.append(this.group);
  }
  /** `slotsUpTo`: how many slots the clock has passed, so that a hand never turns back by itself. */
  show({ slotsUpTo, armed, left, target }) {
    const now = slotsUpTo % this.slots;
    this.cells.forEach(({ classList }, i) => {
      classList.toggle("armed", armed.has(i));
      classList.toggle("left", i === left);
      classList.toggle("target", i === target);
      this.numbers[i].classList.toggle("now", i === now);
    });
    // At most a turn at once: what matters is where it stands.
    const forward = (now - (this.turned % this.slots) + this.slots) % this.slots;
    const isBack = slotsUpTo < (this.shownUpTo ?? 0);
    this.turned += isBack ? forward - (forward ? this.slots : 0) : forward;
    this.shownUpTo = slotsUpTo;
    this.hand.style.transform = `rotate(${(this.turned / this.slots) * 360}deg)`;
  }
  /** Where the i-th of n discs in a slot stands, below its number, and how large it is. */
  spot(slot, i, n) {
    const depth = this.outer - this.inner - this.room;
    const width = (2 * Math.PI * (this.inner + depth / 2)) / this.slots;
    // A disc that is alone may reach into the next slots, where those are narrow.
    const least = n === 1 ? 0.8 * discSize() : 0;
    const largest = Math.min(discSize(), depth / 2.3);
    let columns = 1;
    while (Math.ceil(n / columns) * (width / columns) > depth * 1.15 && columns < n) ++columns;
    const rows = Math.ceil(n / columns);
    const size = Math.min(largest, depth / rows / 2.1, Math.max(width / columns / 2.1, least));
    // Too small to be read: one disc for all of them, with their number.
    if (size < largest / 2)
      return { xy: at(this.inner + 1 + depth / 2, (slot + 0.5) / this.slots), size: largest, count: n };
    const radius = this.inner + 1 + (depth * (rows - Math.floor(i / columns) - 0.5)) / rows;
    return { xy: at(radius, (slot + ((i % columns) + 0.5) / columns) / this.slots), size };
  }
}

class Stage {
  constructor(svg) {
    Object.assign(this, { svg, discs: new Map() });
  }
  /** Lays the rings out: for the levels that this story will need, or for the flat wheel. */
  layOut(view, teller) {
    this.view = view;
    this.svg.replaceChildren();
    this.discs.clear();
    const rings = this.svg.appendChild(make("g", {}));
    this.rings = [];
    this.ghosts = [];
    const shown = view === "flat" ? 0 : Math.max(teller.levels, 2);
    if (!shown) this.rings.push(new Ring(rings, 190, RIM, teller.flatSlots, levelColour(0)));
    for (let level = 0; level < shown; ++level) {
      const inner = MIDDLE + 4 + (level * (RIM - MIDDLE)) / shown;
      const outer = MIDDLE + ((level + 1) * (RIM - MIDDLE)) / shown;
      const ghost = rings.appendChild(make("g", {}));
      const y = CENTER - (inner + outer) / 2 + 4;
      ghost.append(
        make("circle", { class: "ghost", cx: CENTER, cy: CENTER, r: outer }),
        make("text", { class: "ghost-name", x: CENTER, y }, `level ${level}: not built yet`),
      );
      this.ghosts.push(ghost);
      const slots = teller.sizes[level] ?? teller.sizes.at(-1); // the last size is repeated
      this.rings.push(new Ring(rings, inner, outer, slots, levelColour(level)));
    }
    const lines = NARROW.matches ? [-34, 0, 26, 47] : [-14, 8, 30, 46];
    this.svg.append(make("circle", { class: "middle", cx: CENTER, cy: CENTER, r: MIDDLE - 3 }));
    [this.clock, this.unit, this.driver, this.until] = lines.map((y, i) =>
      this.svg.appendChild(make("text", { class: i ? "unit" : "clock", x: CENTER, y: CENTER + y })),
    );
    this.unit.textContent = times.isClock ? "" : "ms";
    this.caller = make("text", { class: "caller", x: 12, y: 26 });
    this.trail = make("path", { class: "trail", style: "display: none" });
    this.tasks = make("g", {});
    this.svg.append(this.caller, this.trail, this.tasks);
  }

  show(frame) {
    const isFlat = this.view === "flat";
    const now = time(frame.now);
    this.clock.textContent = now;
    this.clock.setAttribute("style", now.length > 9 ? "font-size: 19px" : "");
    [this.driver.textContent, this.until.textContent] = isFlat
      ? ["the hand", frame.flat.entries.length ? "walks" : "stands still"]
      : this.driverState(frame);
    for (const [task, disc] of this.discs) {
      if (task < frame.tasks.length) continue;
      disc.remove();
      this.discs.delete(task);
    }
    const places = isFlat ? this.showFlat(frame) : this.showLevels(frame);
    const middle = frame.tasks.flatMap(({ state }, i) => (state === "flushed" ? [i] : []));
    const from = (this.lastFrom = frame.from ?? this.lastFrom);
    frame.tasks.forEach((task, i) => {
      const shown = isFlat ? flatTask(frame, i) : task;
      this.showDisc(frame, shown, i, places.get(i) ?? this.outside(shown, middle, i, from));
    });
    const waits = frame.tasks.some((task, i) => task.state === "queued" && !places.has(i));
    this.caller.textContent = waits && !isFlat ? "the caller's thread" : "";
  }
  /** What the driver does, in two short lines. */
  driverState({ heap, tasks, now }) {
    const next = heap[0]?.expiration;
    if (tasks.some((task) => task.state === "flushed") || next <= now) return ["awake", ""];
    return next === undefined ? ["asleep", ""] : ["asleep until", time(next)];
  }
  /** Both return where the tasks are that are in a bucket. */
  showLevels(frame) {
    const places = new Map();
    const slotOn = (bucket, number) => (bucket?.level === number ? bucket.slot : -1);
    this.rings.forEach((ring, number) => {
      const level = frame.levels[number];
      ring.group.style.display = level ? "" : "none";
      this.ghosts[number].style.display = level ? "none" : "";
      if (!level) return;
      for (const { tasks, slot, expiration } of level.buckets)
        tasks.forEach((task, i) =>
          places.set(task, {
            ...ring.spot(slot, i, tasks.length),
            colour: levelColour(number),
            place: `${number}:${slot}@${expiration}`,
          }),
        );
      ring.show({
        slotsUpTo: Math.floor(level.clock / level.granularity),
        armed: new Set(level.buckets.map((bucket) => bucket.slot)),
        left: slotOn(frame.from, number),
        target: slotOn(frame.to, number),
      });
    });
    // The way of a task that was moved just now.
    const isMove = frame.stage === "cascade" && places.has(frame.task);
    this.trail.style.display = isMove ? "" : "none";
    if (isMove) {
      const from = this.rings[frame.from.level].spot(frame.from.slot, 0, 1).xy;
      const to = places.get(frame.task).xy;
      this.trail.setAttribute("d", `M${point(from)}Q${CENTER} ${CENTER} ${point(to)}`);
      this.trail.setAttribute("style", levelColour(frame.to.level));
    }
    return places;
  }
  showFlat(frame) {
    const [ring] = this.rings;
    const bySlot = new Map();
    for (const entry of frame.flat.entries)
      bySlot.set(entry.slot, [...(bySlot.get(entry.slot) ?? []), entry]);
    const places = new Map();
    for (const [slot, entries] of bySlot)
      entries.forEach(({ task, rounds }, i) =>
        places.set(task, {
          ...ring.spot(slot, i, entries.length),
          colour: levelColour(0),
          place: `${slot}+${rounds}`,
          rounds,
        }),
      );
    ring.show({ slotsUpTo: frame.flat.clock, armed: new Set(bySlot.keys()), left: -1, target: -1 });
    return places;
  }
  /** Taken out of a bucket, run, or not placed yet. */
  outside(task, middle, i, from) {
    const size = discSize();
    if (task.state === "queued") return { xy: [40, 60], size, colour: levelColour(0) };
    const colour = levelColour(from?.level ?? 0);
    if (task.state !== "flushed")
      return { xy: at(MIDDLE - (NARROW.matches ? 5 : 16), 0), size, colour };
    const n = middle.length;
    const step = Math.min(NARROW.matches ? 0.115 : 0.075, 0.96 / n);
    const turn = 0.5 + (middle.indexOf(i) - (n - 1) / 2) * step;
    return { xy: at(MIDDLE - 4, turn), size: Math.min(size, Math.PI * step * (MIDDLE - 4)), colour };
  }
  showDisc(frame, task, i, { xy, size, colour, place, rounds, count }) {
    let disc = this.discs.get(i);
    if (!disc) {
      disc = this.tasks.appendChild(make("g", { "data-task": i }));
      disc.append(make("circle", {}), make("text", {}), make("text", { class: "rounds" }));
      this.discs.set(i, disc);
    }
    const isTold = frame.task === i;
    const isHidden = isOver(task) && !(isTold && this.view === "levels");
    const marks = (isTold ? " told" : "") + (isHidden ? " hidden" : "");
    disc.setAttribute("class", `task ${task.state}${marks}`);
    disc.setAttribute("data-place", place ?? task.state);
    // The colours of what has ended come from the class.
    disc.setAttribute("style", isOver(task) ? "" : colour);
    disc.style.transform = `translate(${xy[0].toFixed(1)}px, ${xy[1].toFixed(1)}px)`;
    const [circle, name, badge] = disc.children;
    circle.setAttribute("r", size.toFixed(1));
    name.textContent = count ?? task.name;
    name.setAttribute("style", `font-size: ${(size * 1.05).toFixed(1)}px`);
    badge.textContent = rounds && !count && size > 10 ? grouped(rounds) : "";
    badge.setAttribute("y", (size + 9).toFixed(1));
  }
}
