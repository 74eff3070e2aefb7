# SPDX-License-Identifier: Apache-2.0
"""The programs of the tutorial stand in its pages and in examples/tutorial, both the same; each
lesson ends with an exercise, whose answer is run and compared by test_programs.py."""

import re

import pytest

from pages import Page, read_pages, root

_folder = root / "examples/tutorial"
_licence = "// SPDX-License-Identifier: Apache-2.0\n"
_lessons = [page for page in read_pages() if re.match(r"docs/tutorial/\d-", page.name)]


def differing(page: Page) -> list[str]:
    """Programs of a page that are not those of the folder."""
    return [
        name
        for name, text in page.named_blocks.items()
        if not (_folder / name).is_file()
        or (_folder / name).read_text(encoding="utf-8") != _licence + text
    ]


def test_there_are_seven_lessons():
    assert [page.name[len("docs/tutorial/")] for page in _lessons] == list("1234567")


@pytest.mark.parametrize("page", _lessons, ids=lambda page: page.name)
def test_pages_show_the_files(page):
    assert differing(page) == []


def test_every_file_is_in_a_lesson():
    shown = {name for page in _lessons for name in page.files}
    assert {path.name for path in _folder.glob("*.cpp")} == shown


@pytest.mark.parametrize("page", _lessons, ids=lambda page: page.name)
def test_a_lesson_ends_with_an_exercise(page):
    exercise = page.text.partition("\n## Exercise\n")[2]
    assert "```console\n$ " in exercise and "_answer\n" in exercise
    assert re.search(r"^One answer is \[`\w+_answer\.cpp`\]\(", exercise, re.M)


# --- the checks can fail --------------------------------------------------------------------------


def test_a_program_that_differs_is_found():
    assert differing(Page("a.md", "```cpp\n// hello.cpp\nint main() {}\n```\n")) == ["hello.cpp"]
    assert differing(Page("a.md", "```cpp\n// nowhere.cpp\nint main() {}\n```\n"))
