from conan import ConanFile

PACKAGES = {  # CMake's name; its components, each with its target and the libraries of the system
    "boost": ("Boost", {"headers": ("Boost::headers",)}),
    "date": ("date", {"date-tz": ("date::date-tz", "date-tz", "pthread")}),
    "librdkafka": ("RdKafka", {"rdkafka": ("RdKafka::rdkafka", "rdkafka")}),
    "sqlite3": ("SQLite3", {"sqlite": ("SQLite::SQLite3", "sqlite3", "pthread", "dl")}),
}


class System(ConanFile):
    """The machine's own boost as system-boost, and so on, with the names in it that ConanCenter's
    recipes have."""

    settings = "os", "arch", "compiler", "build_type"
    options = {"header_only": [True, False], "use_system_tz_db": [True, False]}
    default_options = {"header_only": False, "use_system_tz_db": True}

    def package_id(self):
        self.info.clear()

    def package_info(self):
        file, components = PACKAGES[self.name.removeprefix("system-")]
        self.cpp_info.set_property("cmake_file_name", file)
        for name, (target, *libraries) in components.items():
            component = self.cpp_info.components[name]
            component.set_property("cmake_target_name", target)
            component.system_libs = libraries
            component.includedirs = component.libdirs = component.bindirs = []
