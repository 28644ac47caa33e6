# timingwheel::sqlite3: SQLite, by the name that this CMake gives it.
find_package(SQLite3 3.33 QUIET)
foreach(target SQLite3::SQLite3 SQLite::SQLite3)
    if(TARGET ${target} AND NOT TARGET timingwheel::sqlite3)
        add_library(timingwheel::sqlite3 INTERFACE IMPORTED)
        target_link_libraries(timingwheel::sqlite3 INTERFACE ${target})
    endif()
endforeach()
