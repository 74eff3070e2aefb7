# SPDX-License-Identifier: Apache-2.0
# Machine files become part of the library, so that no program has to find them.

# Writes a C++ source that holds all files of `folder`, and sets `variable` to its path. It is
# written again only when a file has changed.
function(selion_embed_machines variable folder)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/shipped_machines.cpp)
    file(GLOB files CONFIGURE_DEPENDS ${folder}/*.toml)
    list(SORT files)
    set(entries "")
    foreach(file IN LISTS files)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
        cmake_path(GET file STEM name)
        file(READ ${file} text)
        set(literal "R\"machine_file(${text})machine_file\"")
        string(APPEND entries "    shipped_machine{\"${name}\", ${literal}},\n")
    endforeach()
    file(WRITE ${source}.new "// Made of machines/*.toml by the build.
#include \"machine/sim/description/shipped_machines.hpp\"

#include <array>

namespace selion::machine::sim {

std::span<const shipped_machine> shipped_machines() {
    static constexpr std::array all{
${entries}    };
    return all;
}

}  // namespace selion::machine::sim
")
    file(COPY_FILE ${source}.new ${source} ONLY_IF_DIFFERENT)
    set(${variable} ${source} PARENT_SCOPE)
endfunction()
