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
        compiler, arch = self.settings.compiler, str(self.settings.arch)
        oldest = {"gcc": "11", "clang": "14", "apple-clang": "15", "msvc": "193"}.get(str(compiler))
        if oldest and Version(compiler.version) < oldest:
            raise ConanInvalidConfiguration(f"{self.ref} requires {compiler} {oldest} or newer")
        narrow = ("x86", "ppc32", "ppc32be", "mips", "s390", "sparc", "riscv32", "wasm", "asm.js")
        arm = ("armv4", "armv5", "armv6", "armv7", "armv8_32")
        if arch in narrow or arch.startswith(arm):
            raise ConanInvalidConfiguration(f"{self.ref} requires pointers of 64 bits")

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self):
        tc = CMakeToolchain(self)
        for component in ("calendar", "kafka", "store"):
            is_wanted = bool(getattr(self.options, f"with_{component}"))
            tc.cache_variables[f"TIMINGWHEEL_BUILD_{component.upper()}"] = is_wanted
        for program in ("KAFKA_DAEMON", "DEMO", "EXAMPLES"):
            tc.cache_variables[f"TIMINGWHEEL_BUILD_{program}"] = False
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
        rmdir(self, os.path.join(self.package_folder, "share"))  # where gdb would not look

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "timingwheel")
        self.cpp_info.set_property("cmake_target_name", "timingwheel::all")
        # Conan describes no package of [platform_requires], so no component may ask for it.
        described = {require.ref.name for require, _ in self.dependencies.host.items()}
        boost = ["boost::headers"] if "boost" in described else []
        self._add_component("timers", "timingwheel", *boost)
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.components["timers"].system_libs = ["pthread"]
        if self.options.with_calendar:
            date = ["date::date-tz"] if self._needs_date else []
            self._add_component("calendar", "timingwheel-calendar", "timers", *date)
        if self.options.with_kafka:
            self._add_component("kafka", "timingwheel-kafka", "timers", "librdkafka::rdkafka")
        if self.options.with_store:
            self._add_component("store", "timingwheel-store", "timers", "sqlite3::sqlite")

    def _add_component(self, name, library, *needs):
        component = self.cpp_info.components[name]
        target = library.removeprefix("timingwheel-")
        component.set_property("cmake_target_name", f"timingwheel::{target}")
        component.set_property("pkg_config_name", library)
        component.libs = [library]
        component.requires = list(needs)
        if self.options.shared:
            component.defines = [library.upper().replace("-", "_") + "_SHARED"]
