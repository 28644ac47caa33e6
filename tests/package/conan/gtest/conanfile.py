from conan import ConanFile


class SystemGTest(ConanFile):
    """The machine's own GoogleTest under the names that ConanCenter's recipe gives it."""

    name = "system-gtest"
    settings = "os", "arch", "compiler", "build_type"

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "GTest")
        libraries = {
            "libgtest": ("gtest", []),
            "gtest_main": ("gtest_main", ["libgtest"]),
            "gmock": ("gmock", ["libgtest"]),
        }
        for name, (library, requires) in libraries.items():
            component = self.cpp_info.components[name]
            component.set_property("cmake_target_name", f"GTest::{library}")
            component.system_libs = [library, "pthread"]
            component.requires = requires
            component.includedirs = component.libdirs = component.bindirs = []
