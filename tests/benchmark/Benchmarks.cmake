# What the folders of benchmarks share. Everything in them is built on demand.

find_package(CLI11 QUIET) # Debian: libcli11-dev
find_package(nlohmann_json QUIET) # Debian: nlohmann-json3-dev
find_package(Python3 QUIET COMPONENTS Interpreter)
set(TIMINGWHEEL_MEASURES ON)
if(NOT CLI11_FOUND OR NOT nlohmann_json_FOUND)
    set(TIMINGWHEEL_MEASURES OFF)
endif()
# Only what is built as it is meant to be is tried.
if(NOT TIMINGWHEEL_MEASURES AND CMAKE_BUILD_TYPE STREQUAL "Release")
    timingwheel_left_out(benchmark "CLI11 or nlohmann-json is not installed")
endif()

# timingwheel_benchmark(<name> <sources>...): the program timingwheel-benchmark-<name>.
function(timingwheel_benchmark name)
    set(target timingwheel-benchmark-${name})
    add_executable(${target} EXCLUDE_FROM_ALL ${ARGN})
    target_link_libraries(${target} PRIVATE timingwheel::timingwheel CLI11::CLI11
                                            nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS})
    add_dependencies(timingwheel-benchmarks ${target})
endfunction()

# timingwheel_rival(<name> <its file> <header> <libraries>...): a contender of that program that
# needs a library. Without it the file is left out.
function(timingwheel_rival name source header)
    set(target timingwheel-benchmark-${name})
    find_path(TIMINGWHEEL_${header}_INCLUDE ${header})
    mark_as_advanced(TIMINGWHEEL_${header}_INCLUDE)
    set(found ${TIMINGWHEEL_${header}_INCLUDE})
    foreach(library ${ARGN})
        find_library(TIMINGWHEEL_${library}_LIBRARY ${library})
        mark_as_advanced(TIMINGWHEEL_${library}_LIBRARY)
        list(APPEND found ${TIMINGWHEEL_${library}_LIBRARY})
    endforeach()
    if(found MATCHES "NOTFOUND")
        message(STATUS "${header} or its library is missing: ${name}'s ${source} is left out")
        if(CMAKE_BUILD_TYPE STREQUAL "Release")
            timingwheel_left_out(benchmark.${name}.${source} "${header} is not installed")
        endif()
        set_source_files_properties(${source} PROPERTIES HEADER_FILE_ONLY ON)
        return()
    endif()
    list(POP_FRONT found include)
    target_include_directories(${target} SYSTEM PRIVATE ${include})
    target_link_libraries(${target} PRIVATE ${found})
endfunction()

# timingwheel_benchmark_test(<name> <what> <command>...): the test benchmark.<name>.<what> of that
# program, built before by benchmark.<name>.build. Where it is built as it is meant to be.
function(timingwheel_benchmark_test name what)
    if(NOT Python3_FOUND OR NOT CMAKE_BUILD_TYPE STREQUAL "Release")
        return()
    endif()
    if(NOT TEST benchmark.${name}.build)
        add_test(NAME benchmark.${name}.build
                 COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target
                         timingwheel-benchmark-${name})
        # Two builds at once would be in each other's way.
        set_tests_properties(benchmark.${name}.build PROPERTIES LABELS slow FIXTURES_SETUP ${name}
                                                                RESOURCE_LOCK build)
    endif()
    add_test(NAME benchmark.${name}.${what} COMMAND ${ARGN})
    set_tests_properties(benchmark.${name}.${what} PROPERTIES LABELS slow FIXTURES_REQUIRED ${name})
endfunction()
