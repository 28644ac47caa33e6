from conan import ConanFile


class SystemLibrdkafka(ConanFile):
    """The machine's own librdkafka under the names that ConanCenter's recipe gives it."""

    name = "system-librdkafka"
    settings = "os", "arch", "compiler", "build_type"

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "RdKafka")
        rdkafka = self.cpp_info.components["rdkafka"]
        rdkafka.set_property("cmake_target_name", "RdKafka::rdkafka")
        rdkafka.system_libs = ["rdkafka"]
        rdkafka.includedirs = rdkafka.libdirs = rdkafka.bindirs = []
