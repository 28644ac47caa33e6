from conan import ConanFile


class SystemBoost(ConanFile):
    """The machine's own Boost headers under the names that ConanCenter's recipe gives them.

    Exported as system-boost of the installed version, and as ConanCenter's boost.
    """

    settings = "os", "arch", "compiler", "build_type"
    options = {"header_only": [True, False]}
    default_options = {"header_only": False}

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "Boost")
        self.cpp_info.set_property("cmake_target_name", "Boost::boost")
        headers = self.cpp_info.components["headers"]
        headers.set_property("cmake_target_name", "Boost::headers")
        headers.includedirs = headers.libdirs = headers.bindirs = []
