# SPDX-License-Identifier: Apache-2.0
"""Exceptions to the rules: a list in exceptions.json that may only shrink."""

import json
import subprocess

from project_files import read, root

_path = "tests/style/exceptions.json"


def exceptions(rule: str) -> dict[str, int]:
    return json.loads(read(_path))[rule]


def differences(found: dict[str, int], allowed: dict[str, int]) -> list[str]:
    """What does not agree with the list, as sentences: more than allowed, and also less."""
    sentences = []
    for name in sorted(found.keys() | allowed.keys()):
        have, may = found.get(name, 0), allowed.get(name, 0)
        if have > may:
            sentences.append(f"{name}: {have}" + (f", only {may} allowed" if may else ""))
        elif have < may:
            sentences.append(f"{name}: {have} now; lower the {may} in {_path} to it")
    return sentences


def growth(before: dict, after: dict) -> list[str]:
    """Entries of the list itself that are new or higher. A list that is not yet closed may grow."""
    if not before.get("closed"):
        return []
    if not after.get("closed"):
        return ["the list was opened again"]
    sentences = []
    for rule, entries in after.items():
        if not isinstance(entries, dict):
            continue
        for name, number in entries.items():
            if number > before.get(rule, {}).get(name, 0):
                sentences.append(f"{rule}: {name}: {number}")
    return sentences


def committed_versions() -> list[dict]:
    """The list as it is and as git knows it, newest first; only the former without git."""
    versions = [json.loads(read(_path))]
    log = subprocess.run(
        ["git", "log", "--format=%H", "-n", "20", "--", _path],
        cwd=root, capture_output=True, text=True,
    )
    for commit in log.stdout.split():
        shown = subprocess.run(
            ["git", "show", f"{commit}:{_path}"], cwd=root, capture_output=True, text=True
        )
        if shown.returncode == 0:
            versions.append(json.loads(shown.stdout))
    return versions
