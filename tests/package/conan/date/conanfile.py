from conan import ConanFile


class SystemDate(ConanFile):
    """The machine's own date under the names that ConanCenter's recipe gives it."""

    name = "system-date"
    settings = "os", "arch", "compiler", "build_type"
    options = {"use_system_tz_db": [True, False]}
    default_options = {"use_system_tz_db": True}

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "date")
        zones = self.cpp_info.components["date-tz"]
        zones.set_property("cmake_target_name", "date::date-tz")
        zones.system_libs = ["date-tz", "pthread"]
        zones.includedirs = zones.libdirs = zones.bindirs = []
