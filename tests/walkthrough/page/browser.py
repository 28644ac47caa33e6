#!/usr/bin/env python3
"""Uses docs/walkthrough.html as a reader does, in Debian's Chromium, or is skipped without it. With
TIMINGWHEEL_SITE=http://... it uses the page of that site, whose search is tried, too.
"""

import itertools
import os
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
    from selenium.webdriver.support.wait import WebDriverWait
except ImportError:
    webdriver = None

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "walkthrough.html"
SITE = os.environ.get("TIMINGWHEEL_SITE")
ADDRESS = f"{SITE}/docs/play.html" if SITE else PAGE.as_uri()
GOLDEN = ROOT / "tests" / "golden" / "placements-t1-w20.txt"
CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
OPTIONS = "headless", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars"
SKIPPED = 77
PATIENCE = 60  # seconds, for what takes a fraction of one on an idle machine
SIZES = {"wide": (1280, 900), "large": (1400, 1000), "tablet": (820, 1180), "phone": (390, 844),
         "small": (320, 568), "zoomed": (640, 450)}  # fmt: skip

LOOK = Path(__file__).with_name("look.js").read_text(encoding="utf-8")


def placesOf(looks, task):
    """Where a task was, one after the other."""
    seen = [look["tasks"].get(task, "") for look in looks]
    return [place for i, place in enumerate(seen) if ":" in place and place != seen[i - 1]]


class WalkthroughPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in OPTIONS:
            options.add_argument(f"--{argument}")
        options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        cls.addClassCleanup(cls.driver.quit)

    def setUp(self):
        self.lookLike("wide")
        self.open("example")

    def tearDown(self):
        self.assertEqual(self.driver.get_log("browser"), [], "the console is not clean")
        fetched = self.js("performance.getEntriesByType('resource').map((each) => each.name)")
        self.assertEqual([name for name in fetched if not name.startswith("data:")], [])

    def js(self, expression, *arguments):
        return self.driver.execute_script(f"return {expression}", *arguments)

    def seen(self, what, *arguments):
        """What a function of look.js returns."""
        return self.driver.execute_script(f"{LOOK}return {what}(...arguments);", *arguments)

    def look(self):
        return self.seen("look")

    def lookLike(self, size, isDark=False, isStill=False):
        width, height = SIZES[size]
        colours, motion = ("light", "dark")[isDark], ("no-preference", "reduce")[isStill]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": colours},
            {"name": "prefers-reduced-motion", "value": motion}]})  # fmt: skip
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1,
            "mobile": width < 600})  # fmt: skip

    def open(self, scenario):
        self.driver.get("about:blank")
        self.driver.get(f"{ADDRESS}#{scenario}")
        self.waitUntil(lambda: self.look().get("ready") == "yes")

    def waitUntil(self, holds):
        WebDriverWait(self.driver, PATIENCE, 0.02).until(lambda _: holds(), "that does not come")

    def find(self, name):
        return self.driver.find_element(By.CSS_SELECTOR, name)

    def text(self, name):
        return self.find(name).text

    def press(self, *keys):
        self.find("body").send_keys(*keys)

    def click(self, name):
        self.js("arguments[0].scrollIntoView({block: 'center'})", self.find(name))
        self.find(name).click()

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
        moved = "scrub.value = step; scrub.dispatchEvent(new Event('input'));"
        self.driver.execute_script(f"const [scrub, step] = arguments; {moved}",
                                   self.find("#scrub"), step)  # fmt: skip

    def scenario(self):
        return self.find("#scenario").get_attribute("value")

    def scenarios(self):
        return self.js("[...document.querySelectorAll('#scenario option')].map((one) => one.value)")

    def testTheExampleGoesTheWayOfTheGoldenOne(self):
        self.assertIn("An empty wheel at 0 ms", self.look()["sentence"])
        looks = self.steps()
        golden = [line.split() for line in GOLDEN.read_text(encoding="utf-8").splitlines()
                  if not line.startswith("#")]  # fmt: skip
        self.assertEqual(len(golden), 9)
        for task, (delay, *places, _, fires) in enumerate(golden):
            self.assertEqual(placesOf(looks, str(task)), places, delay)
            ran = next(look for look in looks if look["tasks"].get(str(task)) == "ran")
            self.assertEqual((ran["now"], ran["stage"]), (fires, "run"), delay)
        self.assertIn("Nothing is pending any more", looks[-1]["sentence"])
        self.assertEqual((self.text("#cascades"), self.text("#wake-ups")), ("6", "13"))

    def expectRefused(self, wrong, bounds, field="#delay"):
        before = self.look()
        self.type(wrong, field, Keys.ENTER)
        self.assertIn(wrong or "Nothing", self.text("#problem"))
        self.assertIn(bounds, self.text("#problem"))
        self.assertEqual(self.look(), before)

    def testBadInputNamesTheBoundAndChangesNothing(self):
        for wrong in ["-1", "2.5", "soon", "10000000", ""]:
            self.expectRefused(wrong, "from 0 to 9,999,999")
        self.add("9,999,999")
        self.assertEqual(self.text("#problem"), "")
        self.assertIn("9,999,999", self.look()["sentence"])

    def testOffersAStoryOfOnesOwnOnlyWhileItIsTheOneShown(self):
        self.assertNotIn("own", self.scenarios())
        self.scrubTo(10)
        self.add("7")
        self.assertIn("from step 10 now", self.text("#note"))
        self.assertEqual((self.scenario(), self.scenarios()[-1]), ("own", "own"))
        self.assertEqual(set(self.steps()[-1]["tasks"].values()), {"ran"})
        look = self.look()
        self.js("document.getElementById('scenario').dispatchEvent(new Event('change'))")
        self.assertEqual(self.look(), look)
        self.find("#scenario").send_keys("the worked")
        self.waitUntil(lambda: self.look()["at"] == "0")
        self.assertEqual((self.scenario(), self.text("#note")), ("example", ""))
        self.assertEqual(self.look()["last"], "53")
        self.assertNotIn("own", self.scenarios())

    def testKeepsTheKeyboardWhereItIs(self):
        self.press(Keys.END)
        self.scrubTo(24)
        self.click("#tasks button")
        active = self.driver.switch_to.active_element
        self.assertEqual(active.get_attribute("aria-label"), "Cancel B")
        self.find("#scrub").send_keys("n")
        self.assertEqual(self.look()["stage"], "wake")
        self.assertEqual(self.steps()[-1]["tasks"]["0"], "cancelled")
        told = set(re.findall(r"<kbd>(\w+)</kbd>", PAGE.read_text(encoding="utf-8")))
        self.assertEqual(told, {"space", "N", "A", "V", "Home", "End"})
        self.press("a")
        self.assertEqual(self.driver.switch_to.active_element.get_attribute("id"), "delay")

    def testFollowsTheAddress(self):
        self.js("location.hash = 'crowd'")
        self.waitUntil(lambda: self.look()["last"] != "53")
        self.assertEqual(self.scenario(), "crowd")
        for unknown in ("own", "toString", ""):
            self.open(unknown)
            self.assertEqual(self.scenario(), "one")

    def testScrubbingShowsWhatSteppingShowed(self):
        looks = self.steps()
        for step in [40, 3, 53, 0, 27]:
            self.scrubTo(step)
            self.assertEqual(self.look(), looks[step])
        for button, step in (("#back", 26), ("#step", 27), ("#next", 28)):
            self.click(button)
            self.assertEqual(self.look(), looks[step])
        self.assertEqual(looks[28]["stage"], "wake")

    def testPlaysByItselfAndPauses(self):
        self.find("#speed").send_keys("fast")
        self.press(Keys.SPACE)
        self.waitUntil(lambda: int(self.look()["at"]) >= 3)
        self.press(Keys.SPACE)
        at = self.look()["at"]
        time.sleep(1)
        self.assertEqual(self.look()["at"], at)
        self.find("#speed").send_keys("normal")  # 20 steps take more than 20 seconds
        self.press(Keys.END)
        self.click("#play")
        self.waitUntil(lambda: int(self.look()["at"]) < 20)

    def testPlaysOnceWhenOpenedUntilTheReaderDoesSomething(self):
        for isStill, does in ((True, "Play"), (False, "Pause")):
            self.lookLike("phone", isStill=isStill)
            self.open("")
            self.assertEqual(self.find("#play").get_attribute("aria-label"), does)
        self.waitUntil(lambda: self.look()["at"] == "1")
        self.click("h1")
        self.assertEqual(self.find("#play").get_attribute("aria-label"), "Play")
        self.click("#more")
        self.waitUntil(lambda: self.look()["at"] == "1")
        self.assertEqual(self.scenario(), "example")

    @unittest.skipUnless(SITE, "docs/walkthrough.html has no search")
    def testTheSearchOfTheSiteFindsIdleConnections(self):
        self.driver.get(f"{SITE}/index.html?q=idle+connection")
        self.waitUntil(lambda: self.seen("results"))
        self.assertIn("/docs/examples/idle-connections", " ".join(self.seen("results")[:3]))
        self.open("one")

    def testTheFlatWheelShowsRoundsAndTimePassesWhenOneWaits(self):
        self.open("empty")
        self.type("10")
        self.click("#wait")
        self.add("70")
        self.press("v")
        look = self.look()
        self.assertEqual((look["view"], look["tasks"]["0"]), ("flat", "16+2"))
        self.assertIn("The hand will pass over it 2 times", look["sentence"])
        self.assertIn("2 rounds to go", self.text("#tasks"))
        self.assertEqual(self.steps()[-1]["tasks"]["0"], "ran")
        self.assertEqual((self.text("#ticks-walked"), self.text("#passed-over")), ("70", "2"))
        self.click("#view-levels")
        self.assertEqual(self.look()["view"], "levels")

    def testAClockHasTheSlotsThatItShows(self):
        self.open("clock")
        self.assertIn("An empty wheel at 9:15:40", self.look()["sentence"])
        slots = self.js("[...document.querySelectorAll('#rings g g')]"
                        ".map((ring) => ring.querySelectorAll('.slot').length)")  # fmt: skip
        self.assertEqual(list(filter(None, slots))[:4], [60, 60, 24, 24])
        self.add("1:30:00")
        self.assertIn("it is due at 10:45:40", self.look()["sentence"])
        self.expectRefused("1:3", "1:3 is not a whole number of seconds")

    def testReadersChooseTheSizesOfTheLevels(self):
        self.open("one")
        self.type("10, 6 24", "#sizes", Keys.ENTER)
        self.assertEqual(self.find("#sizes").get_attribute("value"), "10, 6, 24")
        self.assertIn("Level 0 has 10 slots of 1 ms", self.look()["sentence"])
        self.assertEqual(placesOf(self.steps(), "0"), ["1:2@20", "0:5@25"])
        for wrong in ["5", "65", "20, 0", "twenty", "20.5", "", "9 9 9 9 9 9 9 9 9"]:
            self.expectRefused(wrong, "from 6 to 64", "#sizes")

    def testFitsEveryScreenAndIsReadableInBothSchemes(self):
        texts = ["#sentence", "header p", "h2 small", ".levels span", ".guide dd", "kbd",
                 "#heap li > span", "#heap .dot", "#tasks td", ".costs th", ".flow li.now",
                 ".flow li:not(.now)", "#play", "#problem", "b.ran", "#where"]  # fmt: skip
        for size, isDark in itertools.product(SIZES, (False, True)):
            self.lookLike(size, isDark)
            self.open("example")
            self.scrubTo(32)
            self.type("soon")
            self.click("#add button[type=submit]")
            # Until nothing moves and no colour fades.
            self.waitUntil(lambda: self.js("document.getAnimations().length") == 0)
            width = self.js("document.documentElement.scrollWidth")
            self.assertLessEqual(width, SIZES[size][0], size)
            for name, contrast in self.seen("contrast", texts):
                self.assertGreaterEqual(contrast, 4.5, f"{name}, {size}, dark: {isDark}")

    def testEveryScenarioComesToItsEndAndNothingOverflowsOrCoversANumber(self):
        self.assertGreater(len(self.scenarios()), 5)
        for size, scenario in itertools.product(("large", "phone", "small"), self.scenarios()):
            self.lookLike(size, isStill=True)
            self.open(scenario)
            # As if the reader's font were wider.
            self.js("document.getElementById('levels').style.letterSpacing = '0.06em'")
            last = int(self.look()["last"])
            for step in [*range(0, last, 3), last]:
                self.scrubTo(step)
                with self.subTest(f"{scenario}, step {step}, {size}"):  # once it is laid out
                    self.waitUntil(lambda: self.seen("overflowing") + self.seen("covered") == [])
            self.assertTrue(set(self.look()["tasks"].values()) <= {"ran"}, scenario)

    def testAPhoneShowsTheWholeWheelWithNumbersThatCanBeRead(self):
        box = "document.querySelector(arguments[0]).getBoundingClientRect().toJSON()"
        size = "parseFloat(getComputedStyle(document.querySelector(arguments[0])).fontSize)"
        self.lookLike("phone")
        self.open("example")
        self.scrubTo(32)
        rings = self.js(box, "#rings")
        self.assertLessEqual(rings["bottom"], self.js(box, ".controls")["top"])
        for name in (".number", ".unit", ".clock"):
            self.assertGreaterEqual(self.js(size, name) * rings["width"] / 720, 8.5, name)
        self.lookLike("small")
        for name in ("#next", "#speed"):
            self.assertLessEqual(self.js(box, name)["right"], 320, name)


if __name__ == "__main__":
    if webdriver is None or not all(Path(tool).exists() for tool in (CHROMIUM, DRIVER)):
        print("skipped: chromium, chromium-driver or python3-selenium is not installed")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
