# SPDX-License-Identifier: Apache-2.0
"""Mistakes that are put into copies of the code of coherent memory, to see that they are found.

    coherence_mistakes.py NAME COPY

writes the source that has the mistake, with it, to the file COPY.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

folder = Path(__file__).resolve().parents[2] / "src" / "coherence"


@dataclass(frozen=True)
class Mistake:
    source: str
    right: str  # a piece of the source that is there once
    wrong: str  # what stands there instead
    checks: tuple[str, ...] = ("locations", "litmus")  # each of which must find it


mistakes = {
    # The first that has acknowledged an invalidation counts for all.
    "early_grant": Mistake(
        "directory.cpp",
        "if (--block.busy->missing == 0) carry_out(which);",
        "if (block.busy == nullptr || block.busy->missing == 0) return;\n"
        "            block.busy->missing = 0;\n"
        "            carry_out(which);",
    ),
    # An upgrade without data, though the copy was invalidated on the way.
    "empty_upgrade": Mistake(
        "directory.cpp",
        "to.kind == message_kind::upgrade && block.sharers.contains(to.rank);",
        "to.kind == message_kind::upgrade;",
    ),
    # A write-back that meets a flush is not taken for its answer.
    "unheard_write_back": Mistake(
        "directory.cpp",
        "if (block.busy == nullptr || !std::exchange(block.busy->wants_data, false)) return;\n"
        "            return carry_out(which);",
        "return;",
    ),
    # Who was flushed and keeps a copy to read is not told when another writes.
    "forgotten_sharer": Mistake(
        "directory.cpp",
        "if (block.busy->served.kind == message_kind::get_shared) block.sharers.insert(from);",
        "static_cast<void>(from);",
    ),
    # An invalidation is acknowledged, and the copy stays.
    "kept_copy": Mistake(
        "copy_store.cpp",
        "drop(*which, miss_cause::invalidated);",
        "static_cast<void>(miss_cause::invalidated);",
    ),
    # The copy is given up, and the table of what may be used at once still has it.
    "kept_place": Mistake(
        "copy_store.cpp",
        "    host_.forget(block);\n    set_state(which, copy_state::invalid);",
        "    set_state(which, copy_state::invalid);",
    ),
    # A copy that was flushed, and is kept to be read, is written without asking.
    "kept_right": Mistake(
        "copy_store.cpp",
        "            host_.forget(message.block);\n            set_state",
        "            set_state",
    ),
    # A release does not wait for the writes that have missed.
    "early_release": Mistake(
        "part_releases.cpp",
        "    await_at_most(0, late_writes_, site);\n    if (written_)",
        "    if (written_)",
        ("releases",),
    ),
    # A release does not wait for those who have copies.
    "early_end": Mistake(
        "part_updates.cpp",
        " && missing_answers_ == 0",
        "",
        ("releases",),
    ),
    # An update takes the place of what the rank has sent and its home has not taken yet.
    "overtaken_change": Mistake(
        "written_blocks.cpp",
        "where &= ~bytes_of(mine->bytes_under_way(word));",
        "where &= ~std::uint64_t{0};",
        ("releases",),
    ),
    # After a release the block is written without a note of what it was.
    "unnoticed_write": Mistake(
        "part_updates.cpp",
        "    forget(block);\n    if (!is_own(block)) {",
        "    if (!is_own(block)) {",
        ("releases",),
    ),
    # What has been written goes with the copy that has to make room.
    "lost_with_copy": Mistake(
        "copy_store.cpp",
        "    host_.send_changes(block, which.second.data);\n",
        "    static_cast<void>(written_->close(block, which.second.data, {}));\n",
        ("releases",),
    ),
    # Who asks for a block gets what its home is still writing.
    "unreleased_grant": Mistake(
        "part_updates.cpp",
        "return before != nullptr ? before : memory_of(block);",
        "return before == nullptr ? memory_of(block) : memory_of(block);",
        ("releases",),
    ),
    # Who has asked for a block again tells its home that it has none.
    "gone_again": Mistake(
        "copy_store.cpp",
        "if (!is_asked_for) host_.send",
        "if (is_asked_for || which == nullptr) host_.send",
        ("releases",),
    ),
}


def replace_once(text: str, right: str, wrong: str) -> str:
    count = text.count(right)
    if count != 1:
        raise ValueError(f"what the mistake replaces is there {count} times, not once: {right}")
    return text.replace(right, wrong)


def main() -> None:
    mistake = mistakes[sys.argv[1]]
    text = (folder / mistake.source).read_text(encoding="utf-8")
    Path(sys.argv[2]).write_text(replace_once(text, mistake.right, mistake.wrong),
                                 encoding="utf-8")


if __name__ == "__main__":
    main()
