# What CPack needs for Debian packages: src/package/debian/build has the project include it.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "timingwheel contributors")
set(CPACK_COMPONENTS_ALL timingwheel_Runtime timingwheel_Development timingwheel_Daemon)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_SET_DESTDIR ON) # so that installed files hold the real prefix
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src/core)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
# Before 1.0 the shared library's name has both numbers.
set(series ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(runtime libtimingwheel${series})
set(same "${runtime} (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

# debian_package(<component> <package> <section> <description> [<what it depends on>])
macro(debian_package component package section description)
    string(TOUPPER timingwheel_${component} COMPONENT)
    set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME ${package})
    set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_SECTION ${section})
    set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_DEPENDS "${ARGN}")
    set(CPACK_COMPONENT_${COMPONENT}_DESCRIPTION "${description}")
    install(
        FILES LICENSE
        DESTINATION share/doc/${package}
        RENAME copyright
        COMPONENT timingwheel_${component})
endmacro()
debian_package(Runtime ${runtime} libs "The shared library.")
debian_package(
    Development libtimingwheel-dev libdevel "Headers, and files for CMake, pkg-config and gdb."
    "${same}, libboost-dev (>= 1.74)")
debian_package(
    Daemon timingwheel-kafka net
    "A worker that delivers records of Kafka later, and its unit for systemd."
    "${same}, tzdata")

set(daemon COMPONENT timingwheel_Daemon)
set(here ${PROJECT_SOURCE_DIR}/src/package/debian)
install(FILES ${here}/timingwheel-kafka.service DESTINATION lib/systemd/system ${daemon})
install(FILES ${here}/timingwheel-kafka.toml DESTINATION /etc ${daemon})
file(WRITE ${PROJECT_BINARY_DIR}/conffiles "/etc/timingwheel-kafka.toml\n")
file(WRITE ${PROJECT_BINARY_DIR}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_TIMINGWHEEL_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/triggers)
set(CPACK_DEBIAN_TIMINGWHEEL_DAEMON_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/conffiles)
include(CPack)
