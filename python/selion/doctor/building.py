# SPDX-License-Identifier: Apache-2.0
"""What it takes to build programs and the package; not needed to run what is built."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from selion.doctor.check import Check, judged, looked_at

_headers = {
    "boost/context/fiber.hpp": "libboost-context-dev",
    "hwloc.h": "libhwloc-dev",
    "fmt/format.h": "libfmt-dev",
    "toml++/toml.h": "libtomlplusplus-dev",
    "nlohmann/json.hpp": "nlohmann-json3-dev",
}


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return (done.stdout or done.stderr).partition("\n")[0].strip()


def _version_in(text: str) -> tuple[int, ...]:
    """The first dotted number of a text."""
    found = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def _compiler() -> tuple[str | None, Check]:
    path = next(filter(None, map(shutil.which, ("g++", "c++", "clang++"))), None)
    said = _first_line([path, "--version"]) if path else "none"
    check = judged(
        "C++ compiler",
        path is not None,
        said,
        ("warn", "sudo apt-get install g++ (12 or newer); needed to build only"),
    )
    return path, check


def _cmake() -> Check:
    path = shutil.which("cmake")
    said = _first_line([path, "--version"]) if path else "none"
    return judged(
        "CMake",
        _version_in(said) >= (3, 25),
        said,
        ("warn", "sudo apt-get install cmake (3.25 or newer); needed to build only"),
    )


def _generator() -> Check:
    found = next(filter(None, map(shutil.which, ("ninja", "make"))), None)
    return judged(
        "ninja or make",
        found is not None,
        found or "none",
        ("warn", "sudo apt-get install ninja-build; needed to build only"),
    )


def _has_header(compiler: str, header: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.cpp")
        source.write_text(f"#if !__has_include(<{header}>)\n#error missing\n#endif\n")
        command = [compiler, "-std=c++20", "-E", "-o", "/dev/null", str(source)]
        done = subprocess.run(command, capture_output=True, timeout=60, check=False)
        return done.returncode == 0


def _library(compiler: str, header: str, package: str) -> Check:
    present = _has_header(compiler, header)
    return judged(
        f"header {header}",
        present,
        "found" if present else "missing",
        ("warn", f"sudo apt-get install {package}; needed to build only"),
    )


def _libraries(compiler: str) -> list[Check]:
    return [
        looked_at(f"header {header}", partial(_library, compiler, header, package))
        for header, package in _headers.items()
    ]


def checks() -> list[Check]:
    compiler, check = _compiler()
    libraries = _libraries(compiler) if compiler else []
    return [check, _cmake(), _generator(), *libraries]
