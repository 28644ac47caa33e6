vcpkg_download_distfile(
    ARCHIVE
    URLS "@ARCHIVE_URL@"
    FILENAME "timingwheel-${VERSION}.tar.gz"
    SHA512 @SHA512@
)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")

vcpkg_check_features(
    OUT_FEATURE_OPTIONS FEATURE_OPTIONS
    FEATURES
        calendar TIMINGWHEEL_BUILD_CALENDAR
        kafka TIMINGWHEEL_BUILD_KAFKA
        store TIMINGWHEEL_BUILD_STORE
)
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${FEATURE_OPTIONS}
        -DTIMINGWHEEL_BUILD_DEMO=OFF
        -DTIMINGWHEEL_BUILD_EXAMPLES=OFF
        -DTIMINGWHEEL_BUILD_KAFKA_DAEMON=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/timingwheel)
vcpkg_fixup_pkgconfig()
vcpkg_copy_pdbs()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
