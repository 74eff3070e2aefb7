# SPDX-License-Identifier: Apache-2.0
# How this project makes its targets.

function(selion_use_ccache)
    find_program(SELION_CCACHE ccache)
    if(SELION_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
        set(CMAKE_CXX_COMPILER_LAUNCHER ${SELION_CCACHE} PARENT_SCOPE)
    endif()
endfunction()

function(selion_warnings target)
    set(warnings -Wall -Wextra -Wpedantic -Wconversion)
    # Of sources compiled as one: what another one has in its unnamed namespace is no matter.
    if(NOT CMAKE_UNITY_BUILD)
        list(APPEND warnings -Wshadow)
    elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        list(APPEND warnings -Wshadow=local)
    endif()
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        list(APPEND warnings -Wno-sign-conversion)  # as in g++, whose -Wconversion is without it
    endif()
    target_compile_options(${target} PRIVATE ${warnings})
    if(SELION_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
endfunction()

# With CMAKE_UNITY_BUILD, the target's sources of one folder are compiled as one, and never those of
# two folders together: what must not clash is told by the folders, not by how many files there are.
function(selion_unite_folders target)
    set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
        cmake_path(GET source PARENT_PATH folder)
        cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
        string(MAKE_C_IDENTIFIER "in_${folder}" group)
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endforeach()
endfunction()

# A program in <build>/bin that uses public headers only.
function(selion_add_program name)
    add_executable(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE selion::selion)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
    selion_warnings(${name})
endfunction()

# Makes the programs of the current folder: NAME.cpp and all of NAME/*.cpp give the program
# <prefix>NAME each; a folder with a CMakeLists.txt of its own decides for itself.
# Sets `programs` to the names of those made here.
function(selion_add_programs prefix)
    set(made)
    file(GLOB entries CONFIGURE_DEPENDS LIST_DIRECTORIES true
        RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *)
    foreach(entry IN LISTS entries)
        if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${entry}/CMakeLists.txt)
            add_subdirectory(${entry})
        elseif(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/${entry})
            file(GLOB sources CONFIGURE_DEPENDS ${entry}/*.cpp)
            if(sources)
                selion_add_program(${prefix}${entry} ${sources})
                list(APPEND made ${prefix}${entry})
            endif()
        elseif(entry MATCHES "^(.*)\\.cpp$")
            selion_add_program(${prefix}${CMAKE_MATCH_1} ${entry})
            list(APPEND made ${prefix}${CMAKE_MATCH_1})
        endif()
    endforeach()
    set(programs ${made} PARENT_SCOPE)
endfunction()

function(selion_install)
    include(CMakePackageConfigHelpers)
    set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/selion)
    install(TARGETS selion selion_lapi EXPORT selion-targets COMPONENT library)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/selion TYPE INCLUDE COMPONENT library
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
    # The library has its own copies; these are to read and to start from.
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/machines DESTINATION ${CMAKE_INSTALL_DATADIR}/selion
        COMPONENT library FILES_MATCHING PATTERN "*.toml")
    install(EXPORT selion-targets NAMESPACE selion:: DESTINATION ${package_dir} COMPONENT library)
    configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/selion-config.cmake.in
        ${PROJECT_BINARY_DIR}/selion-config.cmake INSTALL_DESTINATION ${package_dir}
        NO_SET_AND_CHECK_MACRO)
    write_basic_package_version_file(${PROJECT_BINARY_DIR}/selion-config-version.cmake
        COMPATIBILITY SameMinorVersion)
    # Relative, so that the installed tree may be moved.
    file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
    file(RELATIVE_PATH pc_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
    file(RELATIVE_PATH pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
    foreach(package IN ITEMS selion selion-lapi)
        configure_file(${PROJECT_SOURCE_DIR}/cmake/${package}.pc.in
            ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
        install(FILES ${PROJECT_BINARY_DIR}/${package}.pc
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
    endforeach()
    install(FILES ${PROJECT_BINARY_DIR}/selion-config.cmake
        ${PROJECT_BINARY_DIR}/selion-config-version.cmake
        DESTINATION ${package_dir} COMPONENT library)
endfunction()
