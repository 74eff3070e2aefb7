# SPDX-License-Identifier: Apache-2.0
# Optional parts: each is AUTO, ON or OFF. AUTO builds the part where it can be built and otherwise
# says in one line why not; ON makes that line an error.

# Declares the cache variable SELION_<name>: a word in upper or lower case.
function(selion_part name doc)
    set(SELION_${name} AUTO CACHE STRING "${doc}: AUTO, ON or OFF")
    set_property(CACHE SELION_${name} PROPERTY STRINGS AUTO ON OFF)
    # CMake takes any word that it does not know for true.
    string(TOUPPER "${SELION_${name}}" value)
    if(NOT value MATCHES "^(AUTO|ON|OFF|TRUE|FALSE|YES|NO|1|0)$")
        message(FATAL_ERROR
            "selion: SELION_${name} is '${SELION_${name}}'; it can be AUTO, ON or OFF")
    endif()
    set(SELION_${name} ${value} PARENT_SCOPE)
endfunction()

# Sets SELION_WITH_<name>: AUTO is ON, except within another project; there it is what a second
# argument says.
function(selion_decide name)
    set(value ${SELION_${name}})
    if(value STREQUAL "AUTO" AND ARGC GREATER 1)
        set(value ${ARGV1})
    elseif(value STREQUAL "AUTO")
        set(value ${PROJECT_IS_TOP_LEVEL})
    endif()
    set(SELION_WITH_${name} ${value} PARENT_SCOPE)
endfunction()

# Turns a part off if the variable named by `condition` is false: an error if it was asked for.
macro(selion_require name condition reason)
    if(SELION_WITH_${name} AND NOT ${condition})
        string(TOLOWER ${name} selion_part_name)
        if(SELION_${name} STREQUAL "AUTO")
            message(STATUS "selion: ${selion_part_name} is off: ${reason}")
        else()
            message(FATAL_ERROR "selion: SELION_${name} is ${SELION_${name}}, but ${reason}")
        endif()
        set(SELION_WITH_${name} OFF)
    endif()
endmacro()
