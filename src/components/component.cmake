# What the libraries beside timingwheel::timingwheel have in common.
include(GNUInstallDirs)

# Where an installed file lies, for the loader: it finds the libraries beside it wherever they were
# moved to.
set(origin "$ORIGIN")
if(APPLE)
    set(origin "@loader_path")
endif()

# timingwheel_add_component(<name> <target>): timingwheel::<name>, of the .cpp in this folder and of
# the headers in include/timingwheel/<name>.
function(timingwheel_add_component name target)
    string(TOUPPER ${name} NAME)
    file(GLOB sources CONFIGURE_DEPENDS *.cpp)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS
         ${PROJECT_SOURCE_DIR}/include/timingwheel/${name}/*.h)
    add_library(${target} ${sources})
    add_library(timingwheel::${name} ALIAS ${target})
    target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include
                                    FILES ${headers})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target} PUBLIC timingwheel::timingwheel)
    target_compile_definitions(${target} PRIVATE TIMINGWHEEL_${NAME}_BUILDING)
    if(BUILD_SHARED_LIBS)
        target_compile_definitions(${target} PUBLIC TIMINGWHEEL_${NAME}_SHARED)
    endif()
    set_target_properties(
        ${target}
        PROPERTIES OUTPUT_NAME timingwheel-${name}
                   EXPORT_NAME ${name}
                   CXX_VISIBILITY_PRESET hidden
                   VISIBILITY_INLINES_HIDDEN ON
                   INSTALL_RPATH "${origin}"
                   VERSION ${PROJECT_VERSION}
                   SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    add_dependencies(timingwheel-product ${target})
endfunction()

# timingwheel_add_program(<program> <component> <sources>...): a program that is installed with it.
function(timingwheel_add_program program component)
    add_executable(${program} ${ARGN})
    add_dependencies(timingwheel-product ${program})
    # The installed program finds a shared library wherever both were moved to.
    file(RELATIVE_PATH fromBinToLib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
    set_target_properties(${program} PROPERTIES INSTALL_RPATH "${origin}/${fromBinToLib}")
    if(TIMINGWHEEL_INSTALL)
        install(TARGETS ${program} COMPONENT ${component})
    endif()
endfunction()

# timingwheel_install_component(<name> <target> <description> [PACKAGE_NAME <words> PACKAGE <what
# find_package takes> | PACKAGE_FINDER <file> PACKAGE_TARGET <what either makes> PC <its .pc> | LIBS
# <flags>]): the library, and what finds it. The package is one that the library uses and its users
# do not see: who links the shared library needs none of their own.
function(timingwheel_install_component name target description)
    cmake_parse_arguments(PARSE_ARGV 3 arg ""
                          "PACKAGE_NAME;PACKAGE;PACKAGE_FINDER;PACKAGE_TARGET;PC;LIBS" "")
    string(TOUPPER ${name} NAME)
    string(SUBSTRING ${NAME} 0 1 initial)
    string(SUBSTRING ${name} 1 -1 rest)
    set(Name ${initial}${rest})
    set(component COMPONENT timingwheel_${Name})
    set(configDir ${CMAKE_INSTALL_LIBDIR}/cmake/timingwheel)
    set(pkgConfigDir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    install(
        TARGETS ${target}
        EXPORT timingwheel${Name}Targets
        RUNTIME ${component}
        LIBRARY ${component}
        ARCHIVE ${component}
        FILE_SET HEADERS ${component}
        INCLUDES # CMake 3.22 knows no file sets
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(
        EXPORT timingwheel${Name}Targets
        NAMESPACE timingwheel::
        DESTINATION ${configDir}
        ${component})

    set(needsPackage OFF)
    set(componentDefines)
    if(BUILD_SHARED_LIBS)
        set(componentDefines -DTIMINGWHEEL_${NAME}_SHARED)
        set(arg_PC)
    elseif(arg_PACKAGE_TARGET)
        set(needsPackage ON)
    endif()
    set(findPackage "find_package(${arg_PACKAGE} QUIET)")
    if(arg_PACKAGE_FINDER)
        cmake_path(GET arg_PACKAGE_FINDER FILENAME finder)
        set(findPackage "include(\${CMAKE_CURRENT_LIST_DIR}/${finder})")
        install(FILES ${arg_PACKAGE_FINDER} DESTINATION ${configDir} ${component})
    endif()
    cmake_path(ABSOLUTE_PATH pkgConfigDir BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX} OUTPUT_VARIABLE
               from)
    file(RELATIVE_PATH fromPkgConfigToPrefix ${from} ${CMAKE_INSTALL_PREFIX})
    set(pkgConfigLibraries "\${prefix}")
    cmake_path(APPEND pkgConfigLibraries ${CMAKE_INSTALL_LIBDIR})
    set(package ${PROJECT_SOURCE_DIR}/src/package)
    set(here ${CMAKE_CURRENT_BINARY_DIR})
    configure_file(${package}/timingwheelComponent.cmake.in timingwheel${Name}.cmake @ONLY)
    configure_file(${package}/timingwheel-component.pc.in timingwheel-${name}.pc @ONLY)
    install(FILES ${here}/timingwheel${Name}.cmake DESTINATION ${configDir} ${component})
    install(FILES ${here}/timingwheel-${name}.pc DESTINATION ${pkgConfigDir} ${component})
endfunction()
