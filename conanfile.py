import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir
from conan.tools.scm import Version

required_conan_version = ">=2.0.15"


class TimingwheelConan(ConanFile):
    name = "timingwheel"
    description = "Hierarchical timing wheels: timers for C++20, by the million"
    license = "MIT"
    author = "timingwheel contributors"
    topics = ("timer", "timeout", "timing-wheel", "scheduler", "async")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "fPIC": [True, False],
        "with_calendar": [True, False],
        "with_kafka": [True, False],
        "with_store": [True, False],
    }
    default_options = {
        "shared": False,
        "fPIC": True,
        "with_calendar": False,
        "with_kafka": False,
        "with_store": False,
        "date/*:use_system_tz_db": True,  # needs no libcurl
    }
    implements = ["auto_shared_fpic"]
    exports_sources = (
        "CMakeLists.txt",
        "LICENSE",
        "include/*",
        "src/*",
        "tests/*",
        # These look at the repository and at the finished package.
        "!tests/dev/*",
        "!tests/guarantees/*",
        "!tests/package/*",
        "!tests/tidy/*",
    )

    @property
    def _with_tests(self):
        # Only if asked, with `-c tools.build:skip_test=False`: they need GoogleTest.
        return not self.conf.get("tools.build:skip_test", default=True, check_type=bool)

    @property
    def _needs_date(self):
        # Older standard libraries have no time zones.
        compiler = str(self.settings.compiler)
        has_zones = compiler == "msvc" or (
            compiler == "gcc" and Version(self.settings.compiler.version) >= "14"
        )
        return self.options.with_calendar and not has_zones

    def set_version(self):
        # The version stands in one place: the header that users see.
        header = load(self, os.path.join(self.recipe_folder, "include/timingwheel/version.h"))
        define = r"#define TIMINGWHEEL_VERSION_{} +(\d+)"
        parts = ("MAJOR", "MINOR", "PATCH")
        self.version = ".".join(re.search(define.format(p), header).group(1) for p in parts)

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
        if self._with_tests:
            self.test_requires("gtest/[>=1.12 <2]")

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        tc = CMakeToolchain(self)
        tc.user_presets_path = False  # nothing is written into the source folder
        tc.cache_variables["TIMINGWHEEL_BUILD_TESTS"] = self._with_tests
        # Compiles the library once more for threads of its own, and tests nothing of the package.
        tc.cache_variables["TIMINGWHEEL_BUILD_SIMULATION"] = False
        tc.cache_variables["TIMINGWHEEL_BUILD_LONG_TESTS"] = False
        if str(self.settings.compiler) in ("gcc", "clang"):  # compiled more often than run
            tc.cache_variables["TIMINGWHEEL_TEST_FLAGS"] = "-O0"
        tc.cache_variables["TIMINGWHEEL_BUILD_CALENDAR"] = bool(self.options.with_calendar)
        tc.cache_variables["TIMINGWHEEL_BUILD_KAFKA"] = bool(self.options.with_kafka)
        tc.cache_variables["TIMINGWHEEL_BUILD_KAFKA_DAEMON"] = False
        tc.cache_variables["TIMINGWHEEL_BUILD_STORE"] = bool(self.options.with_store)
        tc.cache_variables["TIMINGWHEEL_BUILD_DEMO"] = False
        tc.cache_variables["TIMINGWHEEL_BUILD_EXAMPLES"] = False
        tc.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()
        if self._with_tests:
            fast = ["--output-on-failure", "--label-exclude", "slow"]
            cmake.ctest([*fast, "--output-junit", os.path.join(self.build_folder, "junit.xml")])

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        # Conan's generators write these for the consumer.
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "timingwheel")
        self.cpp_info.set_property("cmake_target_name", "timingwheel::all")
        timers = self.cpp_info.components["timers"]
        timers.set_property("cmake_target_name", "timingwheel::timingwheel")
        timers.set_property("pkg_config_name", "timingwheel")
        timers.libs = ["timingwheel"]
        timers.requires = ["boost::headers"]
        if self.options.shared:
            timers.defines = ["TIMINGWHEEL_SHARED"]
        if self.settings.os in ("Linux", "FreeBSD"):
            timers.system_libs = ["pthread"]
        if self.options.with_calendar:
            self._add_component("calendar", *(["date::date-tz"] if self._needs_date else []))
        if self.options.with_kafka:
            self._add_component("kafka", "librdkafka::rdkafka")
        if self.options.with_store:
            self._add_component("store", "sqlite3::sqlite")

    def _add_component(self, name, *needs):
        component = self.cpp_info.components[name]
        component.set_property("cmake_target_name", f"timingwheel::{name}")
        component.set_property("pkg_config_name", f"timingwheel-{name}")
        component.libs = [f"timingwheel-{name}"]
        component.requires = ["timers", *needs]
        if self.options.shared:
            component.defines = [f"TIMINGWHEEL_{name.upper()}_SHARED"]
