# SPDX-License-Identifier: Apache-2.0
"""Which files the style checks read: all that git knows or would add, by kind."""

import functools
import subprocess
from pathlib import Path

root = Path(__file__).resolve().parents[2]

cpp_suffixes = {".cpp", ".hpp", ".c", ".h"}  # C as well
commented_suffixes = cpp_suffixes | {".py", ".cmake", ".sh"}


@functools.cache
def all_files() -> tuple[str, ...]:
    """Paths relative to the project's folder, sorted."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=root, capture_output=True, text=True,
    )
    if listed.returncode == 0:
        names = listed.stdout.splitlines()
    else:  # an unpacked archive
        skipped = {"build", ".venv", ".git", "__pycache__"}
        names = [
            str(path.relative_to(root))
            for path in root.rglob("*")
            if not skipped & set(path.relative_to(root).parts)
        ]
    return tuple(sorted(name for name in set(names) if (root / name).is_file()))


def read(name: str) -> str:
    return (root / name).read_text(encoding="utf-8")


def cpp_files(*folders: str) -> list[str]:
    """C++ and C files below the folders; of the whole project if none is named."""
    return [
        name
        for name in all_files()
        if Path(name).suffix in cpp_suffixes
        and (not folders or name.startswith(tuple(folder + "/" for folder in folders)))
    ]


def is_script(name: str) -> bool:
    """A file without suffix that begins with #!."""
    path = root / name
    if path.suffix:
        return False
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def commented_files() -> list[str]:
    """Files in which we write comments: C++, Python, CMake, scripts."""
    return [
        name
        for name in all_files()
        if Path(name).suffix in commented_suffixes
        or Path(name).name == "CMakeLists.txt"
        or is_script(name)
    ]
