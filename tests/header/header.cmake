# The library as one header, which `./dev release` makes of the sources. The core's unit tests run
# on it instead of the library. Two files that include it are one program.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(tool ${PROJECT_SOURCE_DIR}/src/package/singleheader.py)
set(folder ${CMAKE_CURRENT_BINARY_DIR}/header)
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include
     ${PROJECT_SOURCE_DIR}/include/timingwheel/*.h)
list(FILTER headers EXCLUDE REGEX "/(asio|calendar|kafka|store)/|platform/Asio\\.h$")
file(GLOB_RECURSE inner CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src
     ${PROJECT_SOURCE_DIR}/src/core/*.h ${PROJECT_SOURCE_DIR}/src/core/*.cpp)
set(sources ${headers} ${inner})
list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/src/ REGEX "^core/")
list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/include/ REGEX "^timingwheel/")
add_custom_command(
    OUTPUT ${folder}/timingwheel.hpp
    COMMAND ${Python3_EXECUTABLE} -B ${tool} ${folder}/timingwheel.hpp
    DEPENDS ${tool} ${sources} ${PROJECT_SOURCE_DIR}/src/package/timingwheel.hpp.in
            ${PROJECT_SOURCE_DIR}/LICENSE)
add_custom_target(timingwheel-header DEPENDS ${folder}/timingwheel.hpp)

# Whatever a test includes of the library is that header.
foreach(name ${headers} ${inner})
    file(CONFIGURE OUTPUT ${folder}/instead/${name} CONTENT "#include <timingwheel.hpp>\n")
endforeach()

# The program of a user, without any flag of the library's own.
add_library(timingwheel-header-alone OBJECT header/timingwheel.cpp)
target_include_directories(timingwheel-header-alone PUBLIC ${folder})
target_link_libraries(timingwheel-header-alone PUBLIC Boost::headers Threads::Threads)
target_compile_features(timingwheel-header-alone PUBLIC cxx_std_20)
add_dependencies(timingwheel-header-alone timingwheel-header)
add_executable(timingwheel-header-program header/program.cpp)
target_link_libraries(timingwheel-header-program PRIVATE timingwheel-header-alone)
add_test(NAME unit.header.IsOneProgram COMMAND timingwheel-header-program)
set_tests_properties(unit.header.IsOneProgram PROPERTIES LABELS unit)

# All of them but unit/support, which tests nothing of the library.
set(tests)
foreach(layer base driver facade flat public timeout trace wheel)
    file(GLOB more CONFIGURE_DEPENDS unit/${layer}/*.cpp)
    list(APPEND tests ${more})
endforeach()
add_library(timingwheel-header-instead INTERFACE)
target_include_directories(timingwheel-header-instead BEFORE INTERFACE ${folder}/instead)
target_compile_definitions(timingwheel-header-instead INTERFACE TIMINGWHEEL_INSIDE)
target_link_libraries(timingwheel-header-instead INTERFACE timingwheel-header-alone)
timingwheel_add_tests(unit/header timingwheel-header-instead ${tests})
target_sources(timingwheel-tests-header PRIVATE $<TARGET_OBJECTS:timingwheel-header-alone>)
# Fewer files are compiled sooner. They hide names of each other.
set_target_properties(timingwheel-tests-header PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 24)
target_compile_options(timingwheel-tests-header PRIVATE -Wno-shadow -Wno-unused-result)
add_dependencies(timingwheel-tests timingwheel-tests-header timingwheel-header-program)
