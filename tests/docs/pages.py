# SPDX-License-Identifier: Apache-2.0
"""Pages of the documentation, cut into code blocks.

    ```cpp with a first line `// NAME.cpp`  a file of the page; a program if it has a main
    ```cpp without                          statements of a rank's function; declarations that they
                                            need stand in a comment before: <!-- given: ... -->
    ```console                              commands after `$ `, and what they print. A block is run
                                            if all its commands start programs of the page.
                                            <!-- output varies --> before it: numbers may differ
    ```                                     anything else

A link to examples/tutorial/NAME_answer.cpp makes that file one of the page."""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

root = Path(__file__).resolve().parents[2]

_block = re.compile(
    r"^(?:<!-- (?P<mark>[^\n]*?) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S
)
_file_name = re.compile(r"// (\w+\.cpp)\n")
_answer = re.compile(r"\]\(\.\./\.\./(examples/tutorial/(\w+_answer\.cpp))\)")


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    mark: str


@dataclass(frozen=True)
class Example:
    """Commands of one console block, one after another, and the lines that they print."""

    commands: list[str]
    output: list[str]
    varies: bool


@dataclass
class Page:
    name: str
    text: str
    blocks: list[Block] = field(init=False)

    def __post_init__(self) -> None:
        self.blocks = [
            Block(found["language"], found["text"], found["mark"] or "")
            for found in _block.finditer(self.text)
        ]

    @property
    def files(self) -> dict[str, str]:
        """Named C++ blocks, and answers to exercises."""
        answers = {
            name: (root / path).read_text(encoding="utf-8")
            for path, name in _answer.findall(self.text)
        }
        return self.named_blocks | answers

    @property
    def named_blocks(self) -> dict[str, str]:
        named = ((_file_name.match(block.text), block) for block in self.blocks)
        return {name[1]: block.text for name, block in named if name and block.language == "cpp"}

    @property
    def programs(self) -> list[str]:
        return [name[:-4] for name, text in self.files.items() if "int main(" in text]

    @property
    def fragments(self) -> list[Block]:
        return [
            block
            for block in self.blocks
            if block.language == "cpp" and not _file_name.match(block.text)
        ]

    @property
    def examples(self) -> list[Example]:
        """Console blocks whose commands all start programs of this page."""
        found = []
        for block in self.blocks:
            lines = block.text.splitlines()
            commands = [line[2:] for line in lines if line.startswith("$ ")]
            if block.language != "console" or not all(map(self._is_ours, commands)):
                continue
            output = [line for line in lines if not line.startswith("$ ")]
            found.append(Example(commands, output, "output varies" in block.mark))
        return found

    def _is_ours(self, command: str) -> bool:
        started = re.match(r"(?:[A-Z_]+=\S+ )*\./(\w+)\b", command)
        return started is not None and started[1] in self.programs


def read_pages() -> list[Page]:
    """README.md and all pages below docs/ that git knows or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "README.md", "docs"],
        cwd=root, capture_output=True, text=True,
    )
    if listed.returncode == 0:
        names = listed.stdout.split()
    else:  # an unpacked archive
        names = ["README.md", *(str(path.relative_to(root)) for path in root.glob("docs/**/*.md"))]
    return [
        Page(name, (root / name).read_text(encoding="utf-8"))
        for name in sorted(set(names))
        if name.endswith(".md") and (root / name).is_file()
    ]
