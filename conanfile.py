import os
import re
import runpy

from conan.tools.cmake import cmake_layout
from conan.tools.files import load

required_conan_version = ">=2.0.15"
CENTER = "src/package/conan-center/all/conanfile.py"
Center = runpy.run_path(os.path.join(os.path.dirname(__file__), CENTER))["TimingwheelConan"]


class TimingwheelConan(Center):
    """ConanCenter's recipe for what lies in this folder, with whichever versions there are of what
    it needs."""

    author = "timingwheel contributors"
    url = homepage = None
    exports = CENTER
    exports_sources = "CMakeLists.txt", "LICENSE", "include/*", "src/*"

    def set_version(self):
        # The version stands in one place: the header that users see.
        header = load(self, os.path.join(self.recipe_folder, "include/timingwheel/version.h"))
        self.version = ".".join(re.findall(r"#define \w+_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        # Public headers include Boost.Intrusive.
        self.requires("boost/[>=1.74 <2]", transitive_headers=True)
        if self._needs_date:
            self.requires("date/[>=3.0 <4]")
        if self.options.with_kafka:
            self.requires("librdkafka/[>=1.9 <3]")
        if self.options.with_store:
            self.requires("sqlite3/[>=3.33 <4]")

    def build_requirements(self):
        pass

    def source(self):
        pass
