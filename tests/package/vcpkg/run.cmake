# Installs the port, and uses it as its `usage` says, without vcpkg's tool: what the portfile calls
# is replaced by the little of it that such a port needs.
# cmake -DPORT_DIR=<folder> -DWORK=<folder> -DCOMPILER=<c++> -DLAUNCHER=<or nothing>
#       -DPROGRAM=<.cpp> -P run.cmake
file(REMOVE_RECURSE ${WORK})
set(PORT timingwheel)
set(CURRENT_PACKAGES_DIR ${WORK}/package)
set(build ${WORK}/build)
set(generate -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${COMPILER}
             -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
file(READ ${PORT_DIR}/vcpkg.json manifest)
string(JSON VERSION GET "${manifest}" version)

function(run)
    execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE out ERROR_VARIABLE out RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "${out}")
    endif()
    set(printed "${out}" PARENT_SCOPE)
endfunction()

function(expect_file name)
    if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${name})
        message(FATAL_ERROR "the port installs no ${name}")
    endif()
endfunction()

function(vcpkg_download_distfile out)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "URLS;FILENAME;SHA512" "")
    file(DOWNLOAD ${arg_URLS} ${WORK}/${arg_FILENAME} EXPECTED_HASH SHA512=${arg_SHA512})
    set(${out} ${WORK}/${arg_FILENAME} PARENT_SCOPE)
endfunction()

function(vcpkg_extract_source_archive out)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARCHIVE" "")
    file(ARCHIVE_EXTRACT INPUT ${arg_ARCHIVE} DESTINATION ${WORK}/source)
    file(GLOB inside ${WORK}/source/*)
    set(${out} ${inside} PARENT_SCOPE)
endfunction()

# Every feature is asked for.
function(vcpkg_check_features)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES")
    list(LENGTH arg_FEATURES count)
    set(options)
    foreach(i RANGE 1 ${count} 2)
        list(GET arg_FEATURES ${i} option)
        list(APPEND options -D${option}=ON)
    endforeach()
    set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
    set(quick -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=100
              -DCMAKE_CXX_FLAGS_RELEASE=-DNDEBUG)
    run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${build} ${generate} ${arg_OPTIONS} ${quick}
        -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} -DCMAKE_INSTALL_LIBDIR=lib
        -DBUILD_SHARED_LIBS=OFF)
    if(printed MATCHES "not used by the project")
        message(FATAL_ERROR "${printed}")
    endif()
endfunction()

function(vcpkg_cmake_install)
    run(${CMAKE_COMMAND} --build ${build} --target install)
endfunction()

# Where vcpkg has the files, the prefix is one folder nearer.
function(vcpkg_cmake_config_fixup)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
    set(share ${CURRENT_PACKAGES_DIR}/share)
    file(MAKE_DIRECTORY ${share})
    file(RENAME ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH} ${share}/${PORT})
    file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/lib/cmake)
    set(up "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
    file(GLOB files ${share}/${PORT}/*Targets.cmake)
    foreach(targets IN LISTS files)
        file(READ ${targets} text)
        string(REPLACE "${up}${up}${up}" "${up}${up}" text "${text}")
        file(WRITE ${targets} "${text}")
    endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
    expect_file(lib/pkgconfig/timingwheel.pc)
endfunction()

function(vcpkg_copy_pdbs)
endfunction()

function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "FILE_LIST" "")
    file(COPY_FILE ${arg_FILE_LIST} ${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright)
endfunction()

# The portfile finds its neighbours by CMAKE_CURRENT_LIST_DIR.
include(${PORT_DIR}/portfile.cmake)
foreach(name IN ITEMS copyright usage timingwheelConfig.cmake)
    expect_file(share/${PORT}/${name})
endforeach()

# A program whose build file says no more than `usage` does.
file(STRINGS ${CURRENT_PACKAGES_DIR}/share/${PORT}/usage usage REGEX "^    ")
list(JOIN usage "\n" usage)
string(REPLACE "target_link" "add_executable(main main.cpp)\ntarget_link" usage "${usage}")
file(WRITE ${WORK}/user/CMakeLists.txt
     "cmake_minimum_required(VERSION 3.22)\nproject(user LANGUAGES CXX)\n${usage}\n")
file(COPY_FILE ${PROGRAM} ${WORK}/user/main.cpp)
run(${CMAKE_COMMAND} -S ${WORK}/user -B ${WORK}/user/build ${generate}
    -DCMAKE_PREFIX_PATH=${CURRENT_PACKAGES_DIR})
run(${CMAKE_COMMAND} --build ${WORK}/user/build)
run(${WORK}/user/build/main)
message("${printed}")
