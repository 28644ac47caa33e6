#!/usr/bin/env python3
"""Uses docs/walkthrough.html as a reader does, in Debian's Chromium, or is skipped without it."""

import re
import sys
import time
import unittest
from pathlib import Path

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = None

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "walkthrough.html"
GOLDEN = ROOT / "tests" / "golden" / "placements-t1-w20.txt"
CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
SKIPPED = 77
PATIENCE = 60  # seconds, for what takes a fraction of one on an idle machine
SIZES = {"wide": (1280, 900), "large": (1400, 1000), "tablet": (820, 1180), "phone": (390, 844),
         "small": (320, 568), "zoomed": (640, 450)}  # fmt: skip

# For every disc where it is, and what the page tells about the moment.
LOOK = """
const tasks = {};
for (const disc of document.querySelectorAll("[data-task]"))
  tasks[disc.dataset.task] = disc.dataset.place;
return {...document.body.dataset, tasks,
        sentence: document.getElementById("sentence").textContent};
"""
# The contrast of an element's text with what lies behind it, as WCAG 2 counts it.
CONTRAST = """
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
const rgb = (colour) => {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const luminance = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map((c) => c / 255)
    .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
return arguments[0].map((name) => {
  const element = document.querySelector(name);
  let behind = element;
  while (rgb(getComputedStyle(behind).backgroundColor)[3] < 255) behind = behind.parentElement;
  const [a, b] = [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor]
    .map((colour) => luminance(rgb(colour))).sort((x, y) => y - x);
  return [name, (a + 0.05) / (b + 0.05)];
});
"""
# Discs and the numbers that they touch: a quarter of a number's box is blank above the digits.
COVERED = """
const shown = (element) => getComputedStyle(element).opacity > 0 && element.checkVisibility();
const box = (element) => element.getBoundingClientRect();
const discs = [...document.querySelectorAll(".task")].filter(shown).map((disc) => {
  const {x, y, width} = box(disc.querySelector("circle"));
  return {x: x + width / 2, y: y + width / 2, r: width / 2, name: disc.textContent};
});
return [...document.querySelectorAll(".number, .clock")].filter(shown).flatMap((number) => {
  const {left, right, top, bottom, height} = box(number);
  return discs.filter((disc) => {
    const dx = disc.x - Math.max(left, Math.min(disc.x, right));
    const dy = disc.y - Math.max(top + height / 4, Math.min(disc.y, bottom - height / 4));
    return Math.hypot(dx, dy) < disc.r;
  }).map((disc) => `${disc.name} covers ${number.textContent}`);
});
"""
OVERFLOWING = """
const right = (element) => element.getBoundingClientRect().right;
return [...document.querySelectorAll(".levels li")].map((each) => [each, each.lastElementChild])
  .filter(([each, text]) => getComputedStyle(each, "::before").width !== "11px" ||
    each.scrollWidth > each.clientWidth || right(text) > right(each))
  .map(([each]) => each.textContent);
"""


def start():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ["headless", "no-sandbox", "disable-gpu", "no-first-run", "disable-sync",
                     "disable-background-networking", "disable-component-update",
                     "disable-dev-shm-usage", "hide-scrollbars"]:  # fmt: skip
        options.add_argument("--" + argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(DRIVER), options=options)


class Page:
    def __init__(self, driver):
        self.driver = driver
        self.run = driver.execute_script

    def lookLike(self, size, isDark=False, isStill=False):
        width, height = SIZES[size]
        features = {"prefers-color-scheme": "dark" if isDark else "light",
                    "prefers-reduced-motion": "reduce" if isStill else "no-preference"}  # fmt: skip
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": n, "value": v} for n, v in features.items()]})  # fmt: skip
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )

    def open(self, scenario="example"):
        self.driver.get("about:blank")
        self.driver.get(PAGE.as_uri() + "#" + scenario)
        self.waitUntil(lambda page: page.look().get("ready") == "yes")

    def waitUntil(self, holds):
        end = time.monotonic() + PATIENCE
        while not holds(self):
            if time.monotonic() > end:
                raise AssertionError(f"it did not come to that: {self.look()}")
            time.sleep(0.02)

    def rest(self):
        """Until nothing moves and no colour fades."""
        self.waitUntil(lambda page: page.run("return document.getAnimations().length") == 0)

    def look(self):
        return self.run(LOOK)

    def find(self, name):
        return self.driver.find_element(By.CSS_SELECTOR, name)

    def text(self, name):
        return self.find(name).text

    def press(self, key):
        self.find("body").send_keys(key)

    def click(self, name):
        element = self.find(name)
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def type(self, text, field="#delay", end=""):
        self.find(field).clear()
        self.find(field).send_keys(text, end)

    def add(self, delay):
        self.type(delay, end=Keys.ENTER)

    def steps(self):
        """Every step from here to the end, by the keyboard."""
        looks = [self.look()]
        while (look := looks[-1])["at"] != look["last"]:
            assert len(looks) <= int(look["last"]), f"{look} is not followed by the next"
            self.press(Keys.ARROW_RIGHT)
            looks.append(self.look())
        return looks

    def scrubTo(self, step):
        self.run("const s = document.getElementById('scrub'); s.value = arguments[0];"
                 "s.dispatchEvent(new Event('input'));", step)  # fmt: skip


def placesOf(looks, task):
    """Where a task was, one after the other."""
    seen = [look["tasks"].get(task, "") for look in looks]
    return [place for i, place in enumerate(seen) if ":" in place and place != seen[i - 1]]


class WalkthroughPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.driver = start()
        cls.addClassCleanup(cls.driver.quit)
        cls.page = Page(cls.driver)

    def setUp(self):
        self.page.lookLike("wide")
        self.page.open()

    def tearDown(self):
        self.assertEqual(self.driver.get_log("browser"), [], "the console is not clean")
        fetched = self.page.run("return performance.getEntriesByType('resource')"
                                ".map((each) => each.name)")  # fmt: skip
        self.assertEqual([name for name in fetched if not name.startswith("data:")], [])

    def testTheExampleGoesTheWayOfTheGoldenOne(self):
        self.assertIn("An empty wheel at 0 ms", self.page.look()["sentence"])
        looks = self.page.steps()
        golden = [line.split() for line in GOLDEN.read_text(encoding="utf-8").splitlines()
                  if not line.startswith("#")]  # fmt: skip
        self.assertEqual(len(golden), 9)
        for task, (delay, *places, _, fires) in enumerate(golden):
            self.assertEqual(placesOf(looks, str(task)), places, delay)
            ran = next(look for look in looks if look["tasks"].get(str(task)) == "ran")
            self.assertEqual((ran["now"], ran["stage"]), (fires, "run"), delay)
        self.assertIn("Nothing is pending any more", looks[-1]["sentence"])
        self.assertEqual(self.page.text("#cascades"), "6")
        self.assertEqual(self.page.text("#wake-ups"), "13")

    def testWhatIsAddedInTheMiddleGoesOnFromThere(self):
        while (look := self.page.look())["now"] != "20":
            self.assertNotEqual(look["at"], look["last"])
            self.page.press("n")
        self.page.add("7")
        self.assertEqual(self.page.look()["stage"], "schedule")
        looks = self.page.steps()
        ran = next(look for look in looks if look["tasks"].get("9") == "ran")
        self.assertEqual(ran["now"], "27")
        self.assertEqual(set(looks[-1]["tasks"].values()), {"ran"})

    def testBadInputNamesTheBoundAndChangesNothing(self):
        before = self.page.look()
        for wrong in ["-1", "2.5", "soon", "10000000", ""]:
            self.page.add(wrong)
            self.assertIn(wrong or "Nothing", self.page.text("#problem"))
            self.assertIn("from 0 to 9,999,999", self.page.text("#problem"))
            self.assertEqual(self.page.look(), before)
        self.page.add("9,999,999")
        self.assertEqual(self.page.text("#problem"), "")
        self.assertIn("9,999,999", self.page.look()["sentence"])

    def testACancelledTaskDoesNotRun(self):
        self.page.open("one")
        self.page.press(Keys.END)
        self.page.press(Keys.HOME)
        self.page.scrubTo(3)
        self.page.click("#tasks button")
        looks = self.page.steps()
        self.assertEqual([look["stage"] for look in looks], ["cancel", "wake"])
        self.assertIn("nobody is in it", looks[-1]["sentence"])
        self.assertEqual(looks[-1]["tasks"]["0"], "cancelled")

    def scenario(self):
        return self.page.find("#scenario").get_attribute("value")

    def scenarios(self):
        return self.page.run("return [...document.querySelectorAll('#scenario option')]"
                             ".map((each) => each.value)")  # fmt: skip

    def testOffersAStoryOfOnesOwnOnlyWhileItIsTheOneShown(self):
        self.assertNotIn("own", self.scenarios())
        self.page.scrubTo(10)
        self.page.add("7")
        self.assertIn("from step 10 now", self.page.text("#note"))
        self.assertEqual((self.scenario(), self.scenarios()[-1]), ("own", "own"))
        look = self.page.look()
        self.page.run("document.getElementById('scenario').dispatchEvent(new Event('change'))")
        self.assertEqual(self.page.look(), look)
        self.page.find("#scenario").send_keys("the worked")
        self.page.waitUntil(lambda page: page.look()["at"] == "0")
        self.assertEqual((self.scenario(), self.page.text("#note")), ("example", ""))
        self.assertEqual(self.page.look()["last"], "53")
        self.assertNotIn("own", self.scenarios())

    def testKeepsTheKeyboardWhereItIs(self):
        self.page.press(Keys.END)
        self.page.scrubTo(24)
        self.page.click("#tasks button")
        active = self.driver.switch_to.active_element
        self.assertEqual(active.get_attribute("aria-label"), "Cancel B")
        self.page.find("#scrub").send_keys("n")
        self.assertEqual(self.page.look()["stage"], "wake")
        told = set(re.findall(r"<kbd>(\w+)</kbd>", PAGE.read_text(encoding="utf-8")))
        self.assertEqual(told, {"space", "N", "A", "V", "Home", "End"})
        self.page.press("a")
        self.assertEqual(self.driver.switch_to.active_element.get_attribute("id"), "delay")

    def testFollowsTheAddress(self):
        self.page.run("location.hash = 'crowd'")
        self.page.waitUntil(lambda page: page.look()["last"] != "53")
        self.assertEqual(self.scenario(), "crowd")
        for unknown in ("own", "toString", ""):
            self.page.open(unknown)
            self.assertEqual(self.scenario(), "one")

    def testScrubbingShowsWhatSteppingShowed(self):
        looks = self.page.steps()
        for step in [40, 3, 53, 0, 27]:
            self.page.scrubTo(step)
            self.assertEqual(self.page.look(), looks[step])
        for button, step in (("#back", 26), ("#step", 27), ("#next", 28)):
            self.page.click(button)
            self.assertEqual(self.page.look(), looks[step])
        self.assertEqual(looks[28]["stage"], "wake")

    def testPlaysByItselfAndPauses(self):
        self.page.find("#speed").send_keys("fast")
        self.page.press(Keys.SPACE)
        self.page.waitUntil(lambda page: int(page.look()["at"]) >= 3)
        self.page.press(Keys.SPACE)
        at = self.page.look()["at"]
        time.sleep(1)
        self.assertEqual(self.page.look()["at"], at)
        self.page.find("#speed").send_keys("normal")  # 20 steps take more than 20 seconds
        self.page.press(Keys.END)
        self.page.click("#play")
        self.page.waitUntil(lambda page: int(page.look()["at"]) < 20)

    def testTheFlatWheelShowsRoundsAndTimePassesWhenOneWaits(self):
        self.page.open("empty")
        self.page.type("10")
        self.page.click("#wait")
        self.page.add("70")
        self.page.press("v")
        look = self.page.look()
        self.assertEqual((look["view"], look["tasks"]["0"]), ("flat", "16+2"))
        self.assertIn("The hand will pass over it 2 times", look["sentence"])
        self.assertIn("2 rounds to go", self.page.text("#tasks"))
        self.assertEqual(self.page.steps()[-1]["tasks"]["0"], "ran")
        self.assertEqual(self.page.text("#ticks-walked"), "70")
        self.assertEqual(self.page.text("#passed-over"), "2")
        self.page.click("#view-levels")
        self.assertEqual(self.page.look()["view"], "levels")

    def testAClockHasTheSlotsThatItShows(self):
        self.page.open("clock")
        self.assertIn("An empty wheel at 9:15:40", self.page.look()["sentence"])
        looks = self.page.steps()
        self.assertEqual(placesOf(looks, "4"), ["2:18@64800", "1:30@66600", "0:15@66615"])
        self.assertIn("7:00:00 of day 3", looks[-1]["sentence"])
        self.page.press(Keys.HOME)
        slots = self.page.run(
            "return [...document.querySelectorAll('#rings g g')]"
            ".map((each) => each.querySelectorAll('.slot').length).filter((each) => each > 0)"
        )
        self.assertEqual(slots[:4], [60, 60, 24, 24])
        self.page.add("1:30:00")
        self.assertIn("it is due at 10:45:40", self.page.look()["sentence"])
        self.page.add("1:3")
        self.assertIn("1:3 is not a whole number of seconds", self.page.text("#problem"))

    def testReadersChooseTheSizesOfTheLevels(self):
        self.page.open("one")
        self.page.type("10, 6 24", "#sizes", Keys.ENTER)
        self.assertEqual(self.page.find("#sizes").get_attribute("value"), "10, 6, 24")
        self.assertIn("Level 0 has 10 slots of 1 ms", self.page.look()["sentence"])
        self.assertEqual(placesOf(self.page.steps(), "0"), ["1:2@20", "0:5@25"])
        before = self.page.look()
        for wrong in ["5", "65", "20, 0", "twenty", "20.5", "", "9 9 9 9 9 9 9 9 9"]:
            self.page.type(wrong, "#sizes", Keys.ENTER)
            self.assertIn(wrong or "Nothing", self.page.text("#problem"))
            self.assertIn("from 6 to 64", self.page.text("#problem"))
            self.assertEqual(self.page.look(), before)

    def testFitsEveryScreenAndIsReadableInBothSchemes(self):
        texts = ["#sentence", "header p", "h2 small", ".levels span", ".guide dd", "kbd",
                 "#heap li > span", "#heap .dot", "#tasks td", ".costs th", ".flow li.now",
                 ".flow li:not(.now)", "#play", "#problem", "b.ran", "#where"]  # fmt: skip
        for size in SIZES:
            for isDark in (False, True):
                self.page.lookLike(size, isDark)
                self.page.open()
                self.page.scrubTo(32)
                self.page.type("soon")
                self.page.click("#add button[type=submit]")
                self.page.rest()
                width = self.page.run("return document.documentElement.scrollWidth")
                self.assertLessEqual(width, SIZES[size][0], size)
                for name, contrast in self.page.run(CONTRAST, texts):
                    self.assertGreaterEqual(contrast, 4.5, f"{name}, {size}, dark: {isDark}")

    def testEveryScenarioComesToItsEndAndNothingOverflowsOrCoversANumber(self):
        self.assertGreater(len(self.scenarios()), 5)
        for size in ("large", "phone", "small"):
            self.page.lookLike(size, isStill=True)
            for scenario in self.scenarios():
                self.page.open(scenario)
                # As if the reader's font were wider.
                self.page.run("document.getElementById('levels').style.letterSpacing = '0.06em'")
                last = int(self.page.look()["last"])
                for step in [*range(0, last, 3), last]:
                    self.page.scrubTo(step)
                    where = f"{scenario}, step {step}, {size}"
                    self.assertEqual(self.page.run(OVERFLOWING), [], where)
                    self.assertEqual(self.page.run(COVERED), [], where)
                self.assertTrue(set(self.page.look()["tasks"].values()) <= {"ran"}, scenario)

    def testAPhoneShowsTheWholeWheelWithNumbersThatCanBeRead(self):
        box = "return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()"
        size = "return parseFloat(getComputedStyle(document.querySelector(arguments[0])).fontSize)"
        self.page.lookLike("phone")
        self.page.open()
        self.page.scrubTo(32)
        rings = self.page.run(box, "#rings")
        self.assertLessEqual(rings["bottom"], self.page.run(box, ".controls")["top"])
        for name in (".number", ".unit", ".clock"):
            drawn = self.page.run(size, name) * rings["width"] / 720
            self.assertGreaterEqual(drawn, 8.5, name)
        self.page.lookLike("small")
        for name in ("#next", "#speed"):
            self.assertLessEqual(self.page.run(box, name)["right"], 320, name)


if __name__ == "__main__":
    if webdriver is None or not all(Path(tool).exists() for tool in (CHROMIUM, DRIVER)):
        print("skipped: chromium, chromium-driver or python3-selenium is not installed")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
