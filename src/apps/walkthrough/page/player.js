// Which step is shown, and what the reader does about it.

class Player {
  constructor(teller) {
    this.teller = teller;
    this.stage = new Stage($("rings"));
    this.view = "levels";
    this.timer = null;
  }
  /** `sizes`: slots of the levels, if not those of the scenario. */
  start(scenario, sizes) {
    this.pause();
    $("note").textContent = $("problem").textContent = "";
    this.setScenario(scenario);
    this.started = scenario;
    history.replaceState(null, "", `#${scenario}`);
    this.teller.begin(scenario, sizes);
    $("sizes").value = this.teller.sizes.join(", ");
    $("sizes").removeAttribute("aria-invalid");
    for (const unit of document.querySelectorAll(".delay-unit")) unit.textContent = times.unit;
    this.layOut();
    this.go(0);
  }
  /** A story of one's own can only be left: it is offered for as long as it is the one shown. */
  setScenario(name) {
    $("own")?.remove();
    if (name === "own")
      $("scenario").append(html("option", { id: "own", value: "own" }, "a story of your own"));
    $("scenario").value = name;
  }
  layOut() {
    this.laidOut = this.teller.levels;
    this.stage.layOut(this.view, this.teller);
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
      `step ${this.at} of ${this.last}, at ${moment(frame.now)}`,
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
    this.setScenario("own");
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

/** The number in the field; throws what is wrong with it. */
function readDelay(least, most) {
  const written = $("delay").value.replace(/[\s,_']/g, "");
  const [, hours, minutes, seconds] = (times.isClock && /^(\d+):(\d\d):(\d\d)$/.exec(written)) || [];
  const value = hours ? (60 * hours + 1 * minutes) * 60 + 1 * seconds : Number(written);
  if (!(hours || /^\d+$/.test(written)) || value < least || value > most)
    throw new RangeError(
      `${$("delay").value.trim() || "Nothing"} is not a whole number of ${times.units} from ${least} to ${grouped(most)}.`,
    );
  return value;
}

/** The levels' sizes in the field; throws what is wrong with them. */
function readSizes() {
  const written = $("sizes").value.split(/[\s,x×]+/).filter((each) => each);
  const sizes = written.map(Number);
  const isSize = (each) => Number.isInteger(each) && each >= SIZES.least && each <= SIZES.most;
  if (!sizes.length || sizes.length > SIZES.levels || !sizes.every(isSize))
    throw new RangeError(
      `${$("sizes").value.trim() || "Nothing"} is not one to ${SIZES.levels} whole numbers from ${SIZES.least} to ${SIZES.most}.`,
    );
  return sizes;
}

function listen(player) {
  const byHand = (action) => () => {
    player.pause();
    action();
  };
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
  const perform = (least, command) =>
    unlessWrong("delay", () => {
      const delay = readDelay(least, player.teller.maxDelay);
      player.change((engine) => command(engine, delay));
    });
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
  NARROW.addEventListener("change", () => player.show(player.view));
  $("scenario").addEventListener("change", () => {
    if ($("scenario").value in SCENARIOS) player.start($("scenario").value);
  });

  $("sizes").addEventListener("change", () =>
    unlessWrong("sizes", () => player.start(player.started, readSizes())),
  );

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
  explainColours();
  const player = new Player(new Teller(engine));
  const startAsAsked = () => {
    const asked = location.hash.slice(1);
    player.start(Object.hasOwn(SCENARIOS, asked) ? asked : "one");
  };
  listen(player);
  addEventListener("hashchange", startAsAsked);
  startAsAsked();
  document.body.dataset.ready = "yes";
});
