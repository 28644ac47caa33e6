// What stands beside the rings: delay heap, levels, tasks, costs and the steps.

const FLOW = ["schedule", "place", "arm", "wake", "cascade", "run"];

function html(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

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
      html("b", {}, time(bucket.expiration)),
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
  const next = frame.heap.slice(0, 4).map((bucket) => time(bucket.expiration));
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
            html("b", {}, `${frame.flat.slots} slots of ${width(1)}`),
            html("span", {}, `the hand is in slot ${frame.flat.clock % frame.flat.slots}`),
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
              html("span", { class: "more" }, `${level.slots} × `),
              width(level.granularity),
              html(
                "span",
                { class: "more" },
                `, up to ${time(level.clock + level.interval - 1)}`,
              ),
            ),
          ),
        );
  $("levels").replaceChildren(...items);
}

function whereIs(frame, view, i) {
  const task = view === "flat" ? flatTask(frame, i) : frame.tasks[i];
  if (task.state === "ran") return `ran at ${time(task.endedAt)}`;
  if (task.state === "cancelled") return `cancelled at ${time(task.endedAt)}`;
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
    due.textContent = time(task.deadline);
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
