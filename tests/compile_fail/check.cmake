# SPDX-License-Identifier: Apache-2.0
# cmake -D COMPILER=... -D INCLUDE=... -D HEADERS=... [-D SOURCE=...] -P check.cmake
# SOURCE must fail to compile when MUST_FAIL is defined, with errors that match its line
#     // message: REGULAR EXPRESSION
# and without MUST_FAIL it must compile, so that nothing else is what fails.
# Without SOURCE: writes the file HEADERS, which includes all public headers, and precompiles it.
set(compile ${COMPILER} -std=c++20 -I${INCLUDE})
if(NOT SOURCE)
    file(WRITE ${HEADERS} "#include <selion/selion.hpp>\n")
    execute_process(COMMAND ${compile} -x c++-header ${HEADERS} -o ${HEADERS}.gch
        COMMAND_ERROR_IS_FATAL ANY)
    return()
endif()

file(STRINGS ${SOURCE} line REGEX "^// message: ")
string(REPLACE "// message: " "" message "${line}")
if(message STREQUAL "")
    message(FATAL_ERROR "${SOURCE} has no line '// message: ...'")
endif()

list(APPEND compile -fsyntax-only -include ${HEADERS} ${SOURCE})
execute_process(COMMAND ${compile} RESULT_VARIABLE status ERROR_VARIABLE errors)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "${SOURCE} does not compile without MUST_FAIL:\n${errors}")
endif()

execute_process(COMMAND ${compile} -DMUST_FAIL RESULT_VARIABLE status ERROR_VARIABLE errors)
if(status EQUAL 0)
    message(FATAL_ERROR "${SOURCE} compiles, but must not: ${message}")
endif()
if(NOT errors MATCHES "${message}")
    message(FATAL_ERROR "${SOURCE} fails without a match for '${message}':\n${errors}")
endif()
