# As on ConanCenter: Boost is a package, and CMake one that is installed.
include(default)

[settings]
compiler.cppstd=20

[platform_tool_requires]
cmake/{{ os.environ["CMAKE_VERSION"] }}
