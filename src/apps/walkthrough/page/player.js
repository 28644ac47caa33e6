// What stands beside the rings, which step is shown, and what the reader does about it.

const FLOW = ["schedule", "place", "arm", "wake", "cascade", "run"];

function html(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
const span = (text, name = "") => html("span", { class: name }, ...[text].flat());
const dot = (text, style) => html("span", { class: "dot", style }, text);

function showHeap(frame) {
  const rows = frame.heap.map(({ level, slot, expiration, tasks }) => {
    const style = levelColour(level);
    const dots = tasks.map((i) => dot(frame.tasks[i].name, style));
    const cells = [span(`level ${level}, slot ${slot}`), span(tasks.length ? dots : "emptied", "dots")];
    return html("li", { style }, html("b", {}, time(expiration)), ...cells);
  });
  const isAtWork = frame.tasks.some((task) => task.state === "flushed");
  const why = isAtWork ? "is at work on what it took out" : "sleeps until somebody calls";
  if (!rows.length) rows.push(html("li", { class: "none" }, `Empty: the driver ${why}.`));
  const next = frame.heap.slice(0, 4).map((bucket) => time(bucket.expiration)).join(" · ");
  $("upcoming").textContent = `Delay heap: ${next || "empty"}${frame.heap.length > 4 ? " …" : ""}`;
  $("heap").replaceChildren(...rows);
}

function showLevelList(view, { flat, levels }) {
  const item = (level, name, ...more) =>
    html("li", { style: levelColour(level) }, html("b", {}, name), span(more));
  const items =
    view === "flat"
      ? [item(0, `${flat.slots} slots of ${width(1)}`, `the hand is in slot ${flat.clock % flat.slots}`)]
      : levels.map(({ slots, granularity, clock, interval }, i) =>
          item(i, `level ${i}`, span(`${slots} × `, "more"), width(granularity),
            span(`, up to ${time(clock + interval - 1)}`, "more")),
        );
  $("levels").replaceChildren(...items);
}

function whereIs(frame, view, task, i) {
  if (isOver(task)) return `${task.state} at ${time(task.endedAt)}`;
  if (view === "flat") {
    const { slot, rounds } = frame.flat.entries.find((each) => each.task === i);
    return `slot ${slot}, ${grouped(rounds)} ${rounds === 1 ? "round" : "rounds"} to go`;
  }
  if (task.state === "flushed") return "taken out";
  const bucket = frame.heap.find((each) => each.tasks.includes(i));
  return bucket ? `level ${bucket.level}, slot ${bucket.slot}` : "being placed";
}

/** Rows stay as long as their tasks do, so that a button is there when a finger comes down on it. */
function showTasks(frame, view, cancel) {
  const table = $("tasks");
  while (table.rows.length > frame.tasks.length) table.lastChild.remove();
  frame.tasks.forEach((told, i) => {
    if (!table.rows[i]) {
      const type = { type: "button", "aria-label": `Cancel ${told.name}` };
      const button = html("button", type, "cancel");
      button.addEventListener("click", () => cancel(i));
      const cells = [span(told.name), "", "", "", button];
      table.append(html("tr", {}, ...cells.map((each) => html("td", {}, each))));
    }
    const row = table.rows[i];
    const task = view === "flat" ? flatTask(frame, i) : told;
    const bucket = frame.heap.find((each) => each.tasks.includes(i));
    const [name, due, where, moves, button] = row.cells;
    row.className = isOver(task) ? "ended" : "";
    name.firstChild.className = `dot ${isOver(task) ? task.state : ""}`;
    const level = view === "flat" ? 0 : (bucket ?? frame.from)?.level ?? 0;
    name.firstChild.setAttribute("style", isOver(task) ? "" : levelColour(level));
    due.textContent = time(task.deadline);
    where.textContent = whereIs(frame, view, task, i);
    moves.textContent = view === "flat" ? "–" : task.cascades;
    button.firstChild.hidden = told.state !== "queued" || !bucket;
  });
}

class Player {
  constructor(teller) {
    Object.assign(this, { teller, stage: new Stage($("rings")), view: "levels", timer: null });
    this.isByItself = false;
  }
  /** `sizes`: slots of the levels, if not those of the scenario. */
  start(scenario, sizes) {
    this.pause();
    $("note").textContent = $("problem").textContent = "";
    this.setScenario((this.started = scenario));
    history.replaceState(null, "", `#${scenario}`);
    this.teller.begin(scenario, sizes);
    $("sizes").value = this.teller.sizes.join(", ");
    $("sizes").removeAttribute("aria-invalid");
    for (const unit of document.querySelectorAll(".delay-unit")) unit.textContent = times.isClock ? "s" : "ms";
    this.layOut();
    this.go(0);
  }
  /** A story of one's own can only be left: it is offered for as long as it is the one shown. */
  setScenario(name) {
    $("own")?.remove();
    const own = html("option", { id: "own", value: "own" }, "a story of your own");
    if (name === "own") $("scenario").append(own);
    $("scenario").value = name;
    $("more").hidden = name !== "one";
  }
  layOut() {
    this.laidOut = this.teller.levels;
    this.stage.layOut(this.view, this.teller);
  }
  get last() {
    return this.teller.frames.length - 1;
  }
  go(to) {
    this.at = Math.max(0, Math.min(to, this.last));
    if (this.laidOut !== this.teller.levels) this.layOut();
    const { at, last, view } = this;
    const frame = this.teller.frames[at];
    this.stage.show(frame);
    showHeap(frame);
    showLevelList(view, frame);
    showTasks(frame, view, this.cancel);
    const { wakeUps, cascades, flat } = frame;
    const costs = { "wake-ups": wakeUps, cascades, "ticks-walked": flat.ticksWalked,
      "passed-over": flat.passedOver };
    for (const [id, cost] of Object.entries(costs)) $(id).textContent = grouped(cost);
    const stages = FLOW.includes(frame.stage) || at === 0 ? FLOW : [...FLOW, frame.stage];
    $("flow").replaceChildren(
      ...stages.map((stage) => html("li", { class: stage === frame.stage ? "now" : "" }, stage)),
    );
    const hint = at === 0 && last > 0 ? " Press play, or go on step by step." : "";
    const end = at === last && !frame.heap.length && last > 0 ? " Nothing is pending any more." : "";
    $("sentence").textContent = (view === "flat" ? this.flatSentence() : frame.sentence) + hint + end;
    $("scrub").max = last;
    $("scrub").value = at;
    $("scrub").setAttribute("aria-valuetext", `step ${at} of ${last}, at ${time(frame.now)}`);
    $("where").textContent = `${at} of ${last}`;
    $("back").setAttribute("aria-disabled", String(at === 0));
    for (const each of ["step", "next"]) $(each).setAttribute("aria-disabled", String(at === last));
    Object.assign(document.body.dataset, { view, stage: frame.stage, now: frame.now, at, last });
    if (at === last) this.pause();
  }
  /** What the flat wheel did last: it has no part in most steps of the levels. */
  flatSentence() {
    const told = this.teller.frames.slice(0, this.at + 1).map((frame) => frame.flatSentence);
    return told.filter((each) => each).pop();
  }
  /** To the next frame that tells something in this view, forwards or backwards. */
  step(by) {
    const { frames } = this.teller;
    let to = this.at + by;
    while (this.view === "flat" && to > 0 && to < this.last && !frames[to].flatSentence) to += by;
    this.go(to);
  }
  /** To the frame of the next wake-up, past all before it. */
  next() {
    let to = this.at + 1;
    while (to < this.last && this.teller.frames[to].stage !== "wake") ++to;
    this.go(to);
  }
  change(what, argument) {
    this.pause();
    const from = this.at;
    this.go(this.teller.branch(from, what, argument));
    this.setScenario("own");
    const note = `The story goes on from step ${from} now. What was asked for after that is forgotten.`;
    $("note").textContent = this.teller.forgot ? note : "";
  }
  cancel = (task) => {
    this.change("Cancel", task);
    (document.querySelector("#tasks button:not([hidden])") ?? $("step")).focus();
  };
  show(view) {
    this.view = view;
    for (const each of ["levels", "flat"])
      $(`view-${each}`).setAttribute("aria-pressed", String(each === view));
    this.layOut();
    this.go(this.at);
  }
  play() {
    if (this.at === this.last) this.go(0);
    this.showPlaying("Pause", "M6 5h4v14H6zM14 5h4v14h-4z");
    const tick = () => {
      this.step(1);
      const pause = (900 + 20 * $("sentence").textContent.length) / Number($("speed").value);
      if (this.timer !== null) this.timer = setTimeout(tick, pause);
    };
    this.timer = setTimeout(tick, 250);
  }
  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    this.isByItself = false;
    this.showPlaying("Play", "M7 4v16l13-8z");
  }
  showPlaying(label, icon) {
    $("play").setAttribute("aria-label", label);
    $("play-icon").setAttribute("d", icon);
  }
}

function refuse(field, what, least, most) {
  const written = $(field).value.trim() || "Nothing";
  throw new RangeError(`${written} is not ${what} from ${least} to ${grouped(most)}.`);
}
/** Each returns what stands in the field, and throws what is wrong with it. */
function readDelay(least) {
  const written = $("delay").value.replace(/[\s,_']/g, "");
  const [, hours, minutes, seconds] = (times.isClock && /^(\d+):(\d\d):(\d\d)$/.exec(written)) || [];
  const value = hours ? (60 * hours + 1 * minutes) * 60 + 1 * seconds : Number(written);
  if (!(hours || /^\d+$/.test(written)) || value < least || value > MAX_DELAY)
    refuse("delay", `a whole number of ${times.isClock ? "" : "milli"}seconds`, least, MAX_DELAY);
  return value;
}

function readSizes() {
  const sizes = $("sizes").value.split(/[\s,x×]+/).filter((each) => each).map(Number);
  const isSize = (each) => Number.isInteger(each) && each >= SIZES.least && each <= SIZES.most;
  if (!sizes.length || sizes.length > SIZES.levels || !sizes.every(isSize))
    refuse("sizes", `one to ${SIZES.levels} whole numbers`, SIZES.least, SIZES.most);
  return sizes;
}

function listen(player) {
  const on = (id, event, action) => $(id).addEventListener(event, action);
  const byHand = (action) => () => (player.pause(), action());
  /** What is wrong with a field is told, and changes nothing. */
  const unlessWrong = (field, action) => {
    try {
      action();
      $("problem").textContent = "";
      $(field).removeAttribute("aria-invalid");
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      $("problem").textContent = error.message;
      $(field).setAttribute("aria-invalid", "true");
    }
  };
  const perform = (what, least) =>
    unlessWrong("delay", () => player.change(what, readDelay(least)));
  const toggle = () => (player.timer === null ? player.play() : player.pause());
  const keys = {
    ArrowRight: byHand(() => player.step(1)),
    ArrowLeft: byHand(() => player.step(-1)),
    " ": toggle,
    n: byHand(() => player.next()),
    a: () => ($("delay").focus(), $("delay").select()),
    v: () => player.show(player.view === "flat" ? "levels" : "flat"),
    Home: byHand(() => player.go(0)),
    End: byHand(() => player.go(player.last)),
  };
  on("back", "click", keys.ArrowLeft);
  on("step", "click", keys.ArrowRight);
  on("next", "click", keys.n);
  on("play", "click", toggle);
  on("scrub", "input", byHand(() => player.go(Number($("scrub").value))));
  on("more", "click", () => (player.start("example"), player.play(), $("play").focus()));
  for (const view of ["levels", "flat"]) on(`view-${view}`, "click", () => player.show(view));
  on("add", "submit", (event) => (event.preventDefault(), perform("Schedule", 0)));
  on("wait", "click", () => perform("Wait", 1));
  const chosen = () => $("scenario").value;
  on("scenario", "change", () => chosen() in SCENARIOS && player.start(chosen()));
  on("sizes", "change", () => unlessWrong("sizes", () => player.start(player.started, readSizes())));
  NARROW.addEventListener("change", () => player.show(player.view));
  // Whatever the reader does first ends what plays by itself. The button and its key do that anyway.
  const isToggle = ({ target, key }) => key === " " || target.closest("#play");
  const stop = (event) => player.isByItself && !isToggle(event) && player.pause();
  for (const touched of ["pointerdown", "keydown"]) addEventListener(touched, stop, true);
  document.addEventListener("keydown", (event) => {
    const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    const taken = `input:not([type=range]), select${event.key === " " ? ", button" : ""}`;
    const isOurs = action && !event.target.closest(taken);
    if (!isOurs || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  });
}

loadWheel().then((engine) => {
  for (const [name, { title }] of Object.entries(SCENARIOS))
    $("scenario").append(html("option", { value: name }, title));
  const dots = [0, 1, 2, 3].flatMap((level) => [dot(level, levelColour(level)), " "]);
  $("colours").replaceChildren(...dots, "and so on");
  const player = new Player(new Teller(engine));
  const startAsAsked = () => {
    const asked = location.hash.slice(1);
    player.start(Object.hasOwn(SCENARIOS, asked) ? asked : "one");
  };
  listen(player);
  addEventListener("hashchange", startAsAsked);
  const isAsked = location.hash;
  startAsAsked();
  if (!isAsked && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
    player.play();
    player.isByItself = true;
  }
  document.body.dataset.ready = "yes";
});
