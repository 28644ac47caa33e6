from conan import ConanFile


class SystemSqlite(ConanFile):
    """The machine's own SQLite under the names that ConanCenter's recipe gives it."""

    name = "system-sqlite3"
    settings = "os", "arch", "compiler", "build_type"

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "SQLite3")
        sqlite = self.cpp_info.components["sqlite"]
        sqlite.set_property("cmake_target_name", "SQLite::SQLite3")
        sqlite.system_libs = ["sqlite3", "pthread", "dl"]
        sqlite.includedirs = sqlite.libdirs = sqlite.bindirs = []
