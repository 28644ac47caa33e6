# Time zones, for the calendar and for what has it inside: the standard library's, or those of
# Howard Hinnant's date (Debian: libhowardhinnant-date-dev).
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS ${CMAKE_CXX20_STANDARD_COMPILE_OPTION})
check_cxx_source_compiles(
    "#include <chrono>
     int main() { return std::chrono::locate_zone(\"UTC\") == nullptr; }"
    TIMINGWHEEL_STANDARD_HAS_ZONES)
unset(CMAKE_REQUIRED_FLAGS)

# timingwheel_link_zones(<target> <what it is called>)
function(timingwheel_link_zones target name)
    if(TIMINGWHEEL_STANDARD_HAS_ZONES)
        return()
    endif()
    find_package(date QUIET)
    if(NOT TARGET date::date-tz)
        message(FATAL_ERROR "${name}: the standard library has no time zones, and date is not "
                            "installed (Debian: libhowardhinnant-date-dev)")
    endif()
    target_compile_definitions(${target} PRIVATE TIMINGWHEEL_CALENDAR_WITH_DATE)
    target_link_libraries(${target} PRIVATE date::date-tz)
endfunction()
