// What browser.py sees of a page.

/** For every disc where it is, and what the page tells about the moment. */
function look() {
  const tasks = {};
  for (const disc of document.querySelectorAll("[data-task]"))
    tasks[disc.dataset.task] = disc.dataset.place;
  const sentence = document.getElementById("sentence").textContent;
  return { ...document.body.dataset, tasks, sentence };
}

/** The contrast of each element's text with what lies behind it, as WCAG 2 counts it. */
function contrast(names) {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b]
      .map((c) => c / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  return names.map((name) => {
    const element = document.querySelector(name);
    let behind = element;
    while (rgb(getComputedStyle(behind).backgroundColor)[3] < 255) behind = behind.parentElement;
    const [a, b] = [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor]
      .map((colour) => luminance(rgb(colour)))
      .sort((x, y) => y - x);
    return [name, (a + 0.05) / (b + 0.05)];
  });
}

/** Discs and the numbers that they touch: a quarter of a number's box is blank above the digits. */
function covered() {
  const shown = (element) => getComputedStyle(element).opacity > 0 && element.checkVisibility();
  const box = (element) => element.getBoundingClientRect();
  const discs = [...document.querySelectorAll(".task")].filter(shown).map((disc) => {
    const { x, y, width } = box(disc.querySelector("circle"));
    return { x: x + width / 2, y: y + width / 2, r: width / 2, name: disc.textContent };
  });
  return [...document.querySelectorAll(".number, .clock")].filter(shown).flatMap((number) => {
    const { left, right, top, bottom, height } = box(number);
    const touches = (disc) => {
      const dx = disc.x - Math.max(left, Math.min(disc.x, right));
      const dy = disc.y - Math.max(top + height / 4, Math.min(disc.y, bottom - height / 4));
      return Math.hypot(dx, dy) < disc.r;
    };
    return discs.filter(touches).map((disc) => `${disc.name} covers ${number.textContent}`);
  });
}

/** Levels whose text does not fit into their line. */
function overflowing() {
  const right = (element) => element.getBoundingClientRect().right;
  return [...document.querySelectorAll(".levels li")]
    .map((each) => [each, each.lastElementChild])
    .filter(([each, text]) =>
        getComputedStyle(each, "::before").width !== "11px" ||
        each.scrollWidth > each.clientWidth || right(text) > right(each))
    .map(([each]) => each.textContent);
}

/** The pages that the site's search has found, the best first. */
function results() {
  return [...document.querySelectorAll("a.md-search-result__link")].map((link) => link.href);
}
