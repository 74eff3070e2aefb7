// SPDX-License-Identifier: Apache-2.0
//
// Any bytes are either a mesh, whose graph is sound, or a `bad_file` in one line.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "bad_file.hpp"
#include "mesh_file.hpp"
#include "mesh_graph.hpp"
#include "sequential.hpp"

namespace {

void expect(bool condition) {
    if (!condition) std::abort();
}

void check_graph(const em3d::mesh& object) {
    expect(object.face_count() > 0);
    for (const std::uint32_t corner : object.corners) expect(corner < object.vertices.size());
    const em3d::mesh_graph graph(object, 1);
    expect(graph.step() >= 0 && std::isfinite(graph.step()));
    const em3d::field_values values = em3d::run_sequentially(graph, 3);
    for (const double value : values.electric) expect(std::isfinite(value));
    for (const double value : values.magnetic) expect(std::isfinite(value));
    const em3d::partition division = graph.divide(3);
    expect(division.electric.size() == values.electric.size());
}

void read(std::string_view bytes, const std::string& name) {
    try {
        check_graph(em3d::parse_mesh(bytes, name));
    } catch (const em3d::bad_file& wrong) {
        const std::string_view sentence = wrong.what();
        expect(sentence.starts_with(name));
        for (const char letter : sentence) expect(static_cast<unsigned char>(letter) >= 0x20);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    read(bytes, "fuzz.obj");
    return 0;
}
