#!/usr/bin/env python3
"""Uses docs/walkthrough.html as a reader does, in Debian's Chromium.

browser.py [unittest's options]         runs the tests; skips (77) where the browser is missing
browser.py --pictures <folder> [steps]  saves what it looks like: light and dark, wide and narrow
"""

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
SIZES = {"wide": (1280, 900), "tablet": (820, 1180), "phone": (390, 844), "small": (320, 568),
         "zoomed": (640, 450)}  # fmt: skip

# For every disc where it is, and what the page tells about the moment.
LOOK = """
const tasks = {};
for (const disc of document.querySelectorAll("[data-task]"))
  tasks[disc.dataset.task] = disc.dataset.place;
return {...document.body.dataset, tasks,
        sentence: document.getElementById("sentence").textContent,
        heap: [...document.querySelectorAll("#heap li")].map((row) => row.textContent)};
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


def start():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ["headless", "no-sandbox", "disable-gpu", "no-first-run", "disable-sync",
                     "disable-background-networking", "disable-component-update",
                     "disable-dev-shm-usage", "hide-scrollbars"]:  # fmt: skip
        options.add_argument("--" + argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(DRIVER), options=options)


def lookLike(driver, size, isDark):
    width, height = SIZES[size]
    scheme = {"name": "prefers-color-scheme", "value": "dark" if isDark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
    )


class Page:
    def __init__(self, driver):
        self.driver = driver

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

    def look(self):
        return self.driver.execute_script(LOOK)

    def isMoving(self):
        """Or a colour fades."""
        return self.driver.execute_script("return document.getAnimations().length") > 0

    def find(self, name):
        return self.driver.find_element(By.CSS_SELECTOR, name)

    def text(self, name):
        return self.find(name).text

    def press(self, key):
        self.find("body").send_keys(key)

    def click(self, name):
        element = self.find(name)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def type(self, delay):
        field = self.find("#delay")
        field.clear()
        field.send_keys(delay)

    def add(self, delay):
        self.type(delay)
        self.find("#delay").send_keys(Keys.ENTER)

    def steps(self):
        """Every step from here to the end, by the keyboard."""
        looks = [self.look()]
        while (look := looks[-1])["at"] != look["last"]:
            assert len(looks) <= int(look["last"]), f"{look} is not followed by the next"
            self.press(Keys.ARROW_RIGHT)
            looks.append(self.look())
        return looks

    def scrubTo(self, step):
        self.driver.execute_script(
            "const s = document.getElementById('scrub'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('input'));", step)  # fmt: skip


class WalkthroughPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.driver = start()
        cls.addClassCleanup(cls.driver.quit)

    def setUp(self):
        lookLike(self.driver, "wide", isDark=False)
        self.page = Page(self.driver)
        self.page.open()

    def tearDown(self):
        self.assertEqual(self.driver.get_log("browser"), [], "the console is not clean")

    def testLoadsWithoutTheNetwork(self):
        fetched = "return performance.getEntriesByType('resource').map((each) => each.name)"
        self.assertEqual(
            [name for name in self.driver.execute_script(fetched) if not name.startswith("data:")],
            [],
        )
        self.assertIn("An empty wheel at 0 ms", self.page.look()["sentence"])

    def testTheExampleGoesTheWayOfTheGoldenOne(self):
        looks = self.page.steps()
        ways = []
        for line in GOLDEN.read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                continue
            delay, *places, _, fires = line.split()
            ways.append(places)
            task = str(len(ways) - 1)
            seen = [look["tasks"][task] for look in looks if task in look["tasks"]]
            went = [place for i, place in enumerate(seen) if ":" in place and place != seen[i - 1]]
            self.assertEqual(went, places, delay)
            ran = next(look for look in looks if look["tasks"].get(task) == "ran")
            self.assertEqual((ran["now"], ran["stage"]), (fires, "run"), delay)
        self.assertEqual(len(ways), 9)
        self.assertIn("Nothing is pending any more", looks[-1]["sentence"])

    def testTwentyFiveCascadesOnceAtTwenty(self):
        self.page.open("empty")
        self.page.add("25")
        looks = self.page.steps()
        happened = [(look["stage"], look["now"]) for look in looks]
        self.assertEqual(
            happened,
            [("schedule", "0"), ("place", "0"), ("arm", "0"), ("wake", "20"), ("cascade", "20"),
             ("wake", "25"), ("run", "25")],
        )  # fmt: skip
        cascade = looks[4]
        self.assertEqual(cascade["tasks"]["0"], "0:5@25")
        self.assertIn("cascades from level 1 to slot 5 of level 0", cascade["sentence"])
        self.assertEqual(self.page.text("#cascades"), "1")
        self.assertEqual(self.page.text("#wake-ups"), "2")

    def testWhatIsAddedInTheMiddleGoesOnFromThere(self):
        while (look := self.page.look())["now"] != "20":
            self.assertNotEqual(look["at"], look["last"])
            self.page.press("n")
        self.page.add("7")
        self.assertEqual(self.page.look()["stage"], "schedule")
        looks = self.page.steps()
        ran = next(look for look in looks if look["tasks"].get("9") == "ran")
        self.assertEqual(ran["now"], "27")
        self.assertEqual({look for look in looks[-1]["tasks"].values()}, {"ran"})

    def testBadInputNamesTheBoundAndChangesNothing(self):
        before = self.page.look()
        for wrong in ["-1", "2.5", "soon", "10000000", ""]:
            self.page.type(wrong)
            self.page.click("#add button[type=submit]")
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
        self.assertEqual(self.page.look()["stage"], "cancel")
        looks = self.page.steps()
        self.assertEqual([look["stage"] for look in looks], ["cancel", "wake"])
        self.assertIn("nobody is in it", looks[-1]["sentence"])
        self.assertEqual(looks[-1]["tasks"]["0"], "cancelled")

    def testTellsWhatIsForgotten(self):
        self.page.scrubTo(10)
        self.page.add("7")
        self.assertIn("from step 10 now", self.page.text("#note"))
        self.assertEqual(self.page.find("#scenario").get_attribute("value"), "own")
        self.page.find("#scenario").send_keys("the worked")
        self.assertEqual(self.page.text("#note"), "")
        self.assertEqual(self.page.look()["last"], "53")

    def scenarios(self):
        return self.driver.execute_script(
            "return [...document.querySelectorAll('#scenario option')].map((each) => each.value)"
        )

    def testOffersAStoryOfOnesOwnOnlyWhileItIsTheOneShown(self):
        self.assertNotIn("own", self.scenarios())
        self.page.scrubTo(10)
        self.page.add("7")
        self.assertEqual(self.scenarios()[-1], "own")
        look = self.page.look()
        choose = "document.getElementById('scenario').dispatchEvent(new Event('change'))"
        self.driver.execute_script(choose)
        self.assertEqual(self.page.look(), look)
        self.page.find("#scenario").send_keys("a crowd")
        self.page.waitUntil(lambda page: page.look()["at"] == "0")
        self.assertEqual(self.page.find("#scenario").get_attribute("value"), "crowd")
        self.assertNotIn("own", self.scenarios())

    def testKeepsTheKeyboardWhereItIs(self):
        self.page.press(Keys.END)
        self.page.scrubTo(24)
        self.page.click("#tasks button")
        active = self.driver.switch_to.active_element
        self.assertEqual(active.get_attribute("aria-label"), "Cancel B")
        self.page.find("#scrub").send_keys("n")
        self.assertEqual(self.page.look()["stage"], "wake")

    def testFollowsTheAddress(self):
        self.driver.execute_script("location.hash = 'crowd'")
        self.page.waitUntil(lambda page: page.look()["last"] != "53")
        self.assertEqual(self.page.find("#scenario").get_attribute("value"), "crowd")
        for unknown in ("own", "toString", ""):
            self.page.open(unknown)
            self.assertEqual(self.page.find("#scenario").get_attribute("value"), "one")

    def testTimePassesWhenOneWaits(self):
        self.page.open("empty")
        self.page.type("10")
        self.page.click("#wait")
        self.page.add("11")
        self.page.press(Keys.ARROW_RIGHT)
        self.assertEqual(self.page.look()["tasks"]["0"], "0:1@21")

    def testScrubbingShowsWhatSteppingShowed(self):
        looks = self.page.steps()
        for step in [40, 3, 53, 0, 27]:
            self.page.scrubTo(step)
            self.assertEqual(self.page.look(), looks[step])
        self.page.click("#back")
        self.assertEqual(self.page.look(), looks[26])
        self.page.click("#step")
        self.assertEqual(self.page.look(), looks[27])
        self.page.click("#next")
        self.assertEqual(self.page.look(), looks[28])
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

    def testTheFlatWheelShowsRounds(self):
        self.page.open("empty")
        self.page.add("70")
        self.page.press("v")
        self.assertEqual(self.page.look()["view"], "flat")
        self.assertEqual(self.page.look()["tasks"]["0"], "6+2")
        self.assertIn("The hand will pass over it 2 times", self.page.look()["sentence"])
        self.assertIn("2 rounds to go", self.page.text("#tasks"))
        last = self.page.steps()[-1]
        self.assertEqual(last["tasks"]["0"], "ran")
        self.assertEqual(self.page.text("#ticks-walked"), "70")
        self.assertEqual(self.page.text("#passed-over"), "2")
        self.page.click("#view-levels")
        self.assertEqual(self.page.look()["view"], "levels")

    def testAClockHasTheSlotsThatItShows(self):
        self.page.open("clock")
        self.assertIn("An empty wheel at 9:15:40", self.page.look()["sentence"])
        looks = self.page.steps()
        seen = [look["tasks"].get("4") for look in looks]
        went = [place for i, place in enumerate(seen)
                if place and ":" in place and place != seen[i - 1]]  # fmt: skip
        self.assertEqual(went, ["2:18@64800", "1:30@66600", "0:15@66615"])
        self.assertIn("7:00:00 of day 3", looks[-1]["sentence"])
        self.page.press(Keys.HOME)
        slots = (
            "return [...document.querySelectorAll('#rings g g')]"
            ".map((each) => each.querySelectorAll('.slot').length).filter((each) => each > 0)"
        )
        self.assertEqual(self.driver.execute_script(slots)[:4], [60, 60, 24, 24])
        self.page.add("1:30:00")
        self.assertIn("it is due at 10:45:40", self.page.look()["sentence"])
        self.page.type("1:3")
        self.page.click("#add button[type=submit]")
        self.assertIn("1:3 is not a whole number of seconds", self.page.text("#problem"))

    def setSizes(self, sizes):
        field = self.page.find("#sizes")
        field.clear()
        field.send_keys(sizes, Keys.ENTER)

    def testReadersChooseTheSizesOfTheLevels(self):
        self.page.open("one")
        self.setSizes("10, 6 24")
        self.assertEqual(self.page.find("#sizes").get_attribute("value"), "10, 6, 24")
        self.assertIn("Level 0 has 10 slots of 1 ms", self.page.look()["sentence"])
        looks = self.page.steps()
        self.assertEqual([look["tasks"]["0"] for look in looks if look["stage"] in ("arm", "run")],
                         ["1:2@20", "ran"])  # fmt: skip
        before = self.page.look()
        for wrong in ["5", "65", "20, 0", "twenty", "20.5", "", "9 9 9 9 9 9 9 9 9"]:
            self.setSizes(wrong)
            self.assertIn(wrong or "Nothing", self.page.text("#problem"))
            self.assertIn("from 6 to 64", self.page.text("#problem"))
            self.assertEqual(self.page.look(), before)
        self.page.find("#scenario").send_keys("the worked")
        self.assertEqual(self.page.find("#sizes").get_attribute("value"), "20")

    def testEveryScenarioComesToItsEnd(self):
        names = self.scenarios()
        self.assertGreater(len(names), 5)
        for name in names:
            self.page.open(name)
            self.page.press(Keys.END)
            self.assertNotIn("queued", self.page.look()["tasks"].values(), name)
            self.assertTrue(set(self.page.look()["tasks"].values()) <= {"ran"}, name)

    def testFitsEveryScreenAndIsReadableInBothSchemes(self):
        texts = ["#sentence", "header p", "h2 small", ".levels span", ".guide dd", "kbd",
                 "#heap li > span", "#heap .dot", "#tasks td", ".costs th", ".flow li.now",
                 ".flow li:not(.now)", "#play", "#problem", "b.ran", "#where"]  # fmt: skip
        for size in SIZES:
            for isDark in (False, True):
                lookLike(self.driver, size, isDark)
                self.page.open()
                self.page.scrubTo(32)
                self.page.type("soon")
                self.page.click("#add button[type=submit]")
                self.page.waitUntil(lambda page: not page.isMoving())
                width = self.driver.execute_script("return document.documentElement.scrollWidth")
                self.assertLessEqual(width, SIZES[size][0], size)
                for name, contrast in self.driver.execute_script(CONTRAST, texts):
                    self.assertGreaterEqual(contrast, 4.5, f"{name}, {size}, dark: {isDark}")

    def testAPhoneShowsTheWholeWheelWithNumbersThatCanBeRead(self):
        box = "return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()"
        size = "return parseFloat(getComputedStyle(document.querySelector(arguments[0])).fontSize)"
        lookLike(self.driver, "phone", isDark=False)
        self.page.open()
        self.page.scrubTo(32)
        rings = self.driver.execute_script(box, "#rings")
        controls = self.driver.execute_script(box, ".controls")
        self.assertLessEqual(rings["bottom"], controls["top"])
        for name in (".number", ".unit", ".clock"):
            drawn = self.driver.execute_script(size, name) * rings["width"] / 720
            self.assertGreaterEqual(drawn, 8.5, name)
        lookLike(self.driver, "small", isDark=False)
        for name in ("#next", "#speed"):
            self.assertLessEqual(self.driver.execute_script(box, name)["right"], 320, name)

    def testTheGuideTellsTheKeysThatThereAre(self):
        told = set(re.findall(r"<kbd>(\w+)</kbd>", PAGE.read_text(encoding="utf-8")))
        self.assertEqual(told, {"space", "N", "A", "V", "Home", "End"})
        self.page.press("a")
        self.assertEqual(self.driver.switch_to.active_element.get_attribute("id"), "delay")


def savePictures(folder, steps):
    driver = start()
    for size in SIZES:
        for isDark in (False, True):
            lookLike(driver, size, isDark)
            page = Page(driver)
            page.open()
            for step in steps:
                page.scrubTo(step)
                time.sleep(0.8)
                scheme = "dark" if isDark else "light"
                driver.save_screenshot(str(folder / f"{size}-{scheme}-{step}.png"))
    driver.quit()


if __name__ == "__main__":
    if webdriver is None or not all(Path(tool).exists() for tool in (CHROMIUM, DRIVER)):
        print("skipped: chromium, chromium-driver or python3-selenium is not installed")
        sys.exit(SKIPPED)
    if sys.argv[1:2] == ["--pictures"]:
        target = Path(sys.argv[2])
        target.mkdir(parents=True, exist_ok=True)
        savePictures(target, [int(step) for step in sys.argv[3:]] or [32])
    else:
        unittest.main(verbosity=2)
