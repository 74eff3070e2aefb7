# SPDX-License-Identifier: Apache-2.0
# How tests are registered. Every test has a time-out and a label, the name of its folder.

set(SELION_TEST_BIN ${PROJECT_BINARY_DIR}/bin)

# A test program of this project: made in <build>/bin, sees the inside of the library.
function(selion_add_test_program name)
    add_executable(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE selion_inside)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${SELION_TEST_BIN})
    selion_warnings(${name})
    selion_short_build(${name} -g1)
endfunction()

# Optimised builds spend most of their time on tests: on their optimisation and on what debuggers
# are told of their variables. A build without debug symbols has none of tests either.
function(selion_short_build target)
    set(options ${ARGN})
    if(CMAKE_CXX_FLAGS_RELWITHDEBINFO MATCHES "-g0")
        list(FILTER options EXCLUDE REGEX "^-g")
    endif()
    if(options)
        target_compile_options(${target} PRIVATE "$<$<CONFIG:RelWithDebInfo>:${options}>")
    endif()
endfunction()

function(selion_add_gtest_program folder target seconds)
    # Names of other programs' tests are nobody else's.
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
    if(target STREQUAL "unit_tests")
        set_target_properties(${target} PROPERTIES UNITY_BUILD "${CMAKE_UNITY_BUILD}")
        selion_unite_folders(${target})
        # These have names that others of their folder have.
        get_target_property(sources ${target} SOURCES)
        set(apart "perturbation|reception|.*/shipped_machines|.*/mesh_(network|reference)")
        list(FILTER sources INCLUDE REGEX "/sim/(${apart})_test[.]cpp$")
        set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    if(folder STREQUAL "unit")
        add_dependencies(short_tests ${target})
        selion_short_build(${target} -O0 -g1)  # they take longer to optimise than to run
    else()
        selion_short_build(${target} -O1 -g1)
    endif()
    target_precompile_headers(${target} PRIVATE <gtest/gtest.h> <gmock/gmock.h>)
    if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
        selion_add_gtest_shares(${folder} ${target} ${seconds})
        return()
    endif()
    # Registered properties try the same cases every time; the program alone tries others each time.
    gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST TEST_PREFIX ${folder}/
        DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${seconds} LABELS ${folder}
        ENVIRONMENT "RC_PARAMS=seed=1 max_success=200")
endfunction()

# Registers a program as a few ctests, each of which runs a share of its cases: instrumented, it
# takes longer to start and to end than nearly all of its cases take.
function(selion_add_gtest_shares folder target seconds)
    set(count 8)
    math(EXPR last "${count} - 1")
    math(EXPR patience "${count} * ${seconds}")
    foreach(share RANGE ${last})
        set(test ${folder}/${target}/${share})
        add_test(NAME ${test} COMMAND ${target})
        set_tests_properties(${test} PROPERTIES TIMEOUT ${patience} LABELS ${folder}
            ENVIRONMENT "RC_PARAMS=seed=1 max_success=200;GTEST_TOTAL_SHARDS=${count};\
GTEST_SHARD_INDEX=${share}")
    endforeach()
endfunction()

# Registers every GoogleTest case of all sources below `folder` as one ctest each, found just before
# the tests run. They make one program, <folder>_tests; but the tests in <folder>/NAME make one of
# their own where there is a target NAME_parts (an example's), which sees public headers only.
function(selion_add_gtest_folder folder seconds)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cpp)
    file(GLOB rooms LIST_DIRECTORIES true
        RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/${folder} ${folder}/*)
    foreach(room IN LISTS rooms)
        if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/examples/${room})
            set(own ${sources})
            list(FILTER own INCLUDE REGEX "/${folder}/${room}/")
            list(FILTER sources EXCLUDE REGEX "/${folder}/${room}/")
            if(own AND TARGET ${room}_parts)
                selion_add_program(${room}_${folder}_tests ${own})
                target_link_libraries(${room}_${folder}_tests
                    PRIVATE ${room}_parts GTest::gtest_main ${ARGN})
                selion_add_gtest_program(${folder} ${room}_${folder}_tests ${seconds})
            endif()
        endif()
    endforeach()
    if(sources)
        selion_add_test_program(${folder}_tests ${sources})
        target_link_libraries(${folder}_tests PRIVATE GTest::gmock GTest::gtest_main ${ARGN})
        selion_add_gtest_program(${folder} ${folder}_tests ${seconds})
        if(CMAKE_CXX_FLAGS MATCHES "sanitize=address")
            # Instrumented, they take far longer to optimise than to run.
            target_compile_options(${folder}_tests PRIVATE -O0)
        endif()
    endif()
endfunction()

# Registers a folder of pytest files as one ctest. The longer it may take, the earlier it begins.
# With pairs of the name of a part and a pattern, the files that match make a ctest FOLDER/PART, and
# those that match none FOLDER/rest, so that all of them may run at a time.
function(selion_add_pytest_folder folder seconds)
    file(GLOB scripts CONFIGURE_DEPENDS ${folder}/test_*.py)
    if(NOT scripts)
        return()
    endif()
    set(parts ${ARGN})
    if(NOT parts)
        selion_add_pytest(${folder} ${folder} ${seconds} ${CMAKE_CURRENT_SOURCE_DIR}/${folder})
        return()
    endif()
    while(parts)
        list(POP_FRONT parts part pattern)
        set(chosen ${scripts})
        list(FILTER chosen INCLUDE REGEX ${pattern})
        list(FILTER scripts EXCLUDE REGEX ${pattern})
        selion_add_pytest(${folder}/${part} ${folder} ${seconds} ${chosen})
    endwhile()
    selion_add_pytest(${folder}/rest ${folder} ${seconds} ${scripts})
endfunction()

# Registers pytest files, or a folder of them, as one ctest.
function(selion_add_pytest name folder seconds)
    if(NOT SELION_PYTEST_FOUND)
        message(STATUS "selion: tests/${folder} is off: ${SELION_TEST_PYTHON} has no pytest")
        return()
    endif()
    add_test(NAME ${name}
        COMMAND ${SELION_TEST_PYTHON} -m pytest -q -ra -p no:cacheprovider --color=no ${ARGN}
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    # No name here may begin with SELION_: programs warn about knobs that they do not know. The
    # package is started a thousand times: what Python has compiled of it is kept, in the build.
    set(environment TEST_BIN_DIR=${SELION_TEST_BIN} TEST_BUILD_DIR=${PROJECT_BINARY_DIR}
        CXX=${CMAKE_CXX_COMPILER} PYTHONPYCACHEPREFIX=${PROJECT_BINARY_DIR}/bytecode)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${seconds} COST ${seconds}
        LABELS ${folder} ENVIRONMENT "${environment}"
        ENVIRONMENT_MODIFICATION "PYTHONDONTWRITEBYTECODE=unset:")
endfunction()
