# SPDX-License-Identifier: Apache-2.0
"""The site builds without a warning, none of its links is broken, and no header is left out."""

import re
import shutil
import subprocess
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from pages import root

_site = root / "build/docs/html"
_api_page = root / "docs/reference/cpp-api.md"


def build_docs(*options: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["scripts/build-docs", *options], cwd=root, capture_output=True, text=True, timeout=450
    )


class Links(HTMLParser):
    """Where a page's links lead, and the places in it that a link can name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.targets.append(value)
            elif value and name == "id":
                self.places.add(value)


@cache
def links_of(page: Path) -> Links:
    return Links(page.read_text(encoding="utf-8"))


def broken_links(site: Path) -> list[str]:
    broken = []
    for page in sorted(site.rglob("*.html")):
        for target in set(links_of(page).targets):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            is_there = path.is_file()
            if is_there and parts.fragment and path.suffix == ".html":
                is_there = unquote(parts.fragment) in links_of(path).places
            if not is_there:
                broken.append(f"{page.relative_to(site)}: {target}")
    return broken


@pytest.mark.long
@pytest.mark.timeout(500)  # a busy host
@pytest.mark.skipif(shutil.which("doxygen") is None, reason="doxygen is missing (Debian: doxygen)")
def test_the_site_builds_and_its_links_lead_somewhere():
    done = build_docs()
    assert done.returncode == 0, done.stdout[-5000:]
    assert (_site / "docs/index.html").is_file() and (_site / "index.html").is_file()
    assert "put_signal" in (_site / "api/cpp/signal.html").read_text(encoding="utf-8")
    assert "fetch_add" in (_site / "api/python/selion.html").read_text(encoding="utf-8")
    assert broken_links(_site) == []


def test_each_public_header_is_listed_once():
    listed = re.findall(r"^\| \[`([\w.]+)`\]\(\.\./\.\./include/selion/\1\)", _api_page.read_text(
        encoding="utf-8"), re.M)
    there = {path.name for path in (root / "include/selion").glob("*.h*")} - {"selion.hpp"}
    assert sorted(listed) == sorted(there)


def test_options():
    assert build_docs("--help").stdout.startswith("Usage: ")
    refused = build_docs("--sideways")
    assert refused.returncode == 2 and "'--sideways'" in refused.stderr


@pytest.mark.parametrize("others", [["--sideways"], ["--tools-only"]])
def test_options_that_are_refused_remove_nothing(others):
    kept = root / "build" / "docs" / "kept"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.touch()
    assert build_docs("--fresh", *others).returncode == 2
    kept.unlink()  # it is still there


# --- the checks can fail --------------------------------------------------------------------------


def test_a_broken_link_of_the_site_is_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#x"></a><a href="b.html#y"></a>')
    (tmp_path / "b.html").write_text('<p id="x"><a href="c.html"></a><a href="https://d/"></a>')
    assert broken_links(tmp_path) == ["a.html: b.html#y", "b.html: c.html"]
