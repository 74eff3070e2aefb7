// SPDX-License-Identifier: Apache-2.0
//
// Any bytes are either a machine, whose numbers are sound, or one sentence that names the file.
#include "machine/sim/description/machine_file.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "machine/spec.hpp"

namespace {

namespace sim = selion::machine::sim;

void expect(bool condition) {
    if (!condition) std::abort();
}

void check(const sim::machine_model& model) {
    expect(model.ranks >= 1 && model.ranks <= model.most_ranks);
    expect(model.most_ranks <= selion::machine::max_ranks);
    expect(model.processor.poll >= 1);
    expect(model.tick.numerator_ps >= 1 && model.tick.denominator >= 1);
    for (const sim::constant_note& note : model.constants) expect(!note.source.empty());
    expect(!sim::explain(model).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const selion::result<sim::machine_model> made = sim::read_machine(bytes, "fuzz.toml", {});
    if (made) {
        check(made.value());
        return 0;
    }
    const std::string_view sentence = made.trouble().what();
    expect(sentence.starts_with("fuzz.toml"));
    for (const char letter : sentence) expect(static_cast<unsigned char>(letter) >= 0x20);
    return 0;
}
