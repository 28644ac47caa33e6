import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get, rmdir
from conan.tools.scm import Version

required_conan_version = ">=2.0.15"


class TimingwheelConan(ConanFile):
    name = "timingwheel"
    description = "Hierarchical timing wheels: timers for C++20, by the million"
    license = "MIT"
    url = "https://github.com/conan-io/conan-center-index"
    homepage = "@HOMEPAGE@"
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
        "boost/*:header_only": True,  # only headers are used
    }
    implements = ["auto_shared_fpic"]

    @property
    def _compilers_minimum_version(self):
        return {"gcc": "11", "clang": "14", "apple-clang": "15", "msvc": "193"}

    @property
    def _has_pointers_of_32_bits(self):
        arch = str(self.settings.arch)
        others = ("x86", "ppc32", "ppc32be", "mips", "s390", "sparc", "riscv32", "wasm", "asm.js")
        return arch in others or arch.startswith(("armv4", "armv5", "armv6", "armv7", "armv8_32"))

    @property
    def _needs_date(self):
        # Older standard libraries have no time zones.
        compiler = str(self.settings.compiler)
        has_zones = compiler == "msvc" or (
            compiler == "gcc" and Version(self.settings.compiler.version) >= "14"
        )
        return self.options.with_calendar and not has_zones

    def layout(self):
        cmake_layout(self, src_folder="src")

    def requirements(self):
        # Public headers include Boost.Intrusive.
        self.requires("boost/1.86.0", transitive_headers=True)
        if self._needs_date:
            self.requires("date/3.0.3")
        if self.options.with_kafka:
            self.requires("librdkafka/2.8.0")
        if self.options.with_store:
            self.requires("sqlite3/[>=3.45.0 <4]")

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.25]")

    def validate(self):
        check_min_cppstd(self, 20)
        minimum = self._compilers_minimum_version.get(str(self.settings.compiler))
        if minimum and Version(self.settings.compiler.version) < minimum:
            raise ConanInvalidConfiguration(
                f"{self.ref} requires {self.settings.compiler} {minimum} or newer"
            )
        if self._has_pointers_of_32_bits:
            raise ConanInvalidConfiguration(f"{self.ref} requires pointers of 64 bits")

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self):
        tc = CMakeToolchain(self)
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
