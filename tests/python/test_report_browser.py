# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: no error, every plot drawn, words at marks, zoom, legend, themes."""

from __future__ import annotations

import html as markup
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import needs_module, seconds
from reporting import five, header, make, rows_of, studies, write
from selion.report.page import html

_browser = shutil.which("chromium")
_errors = (
    "<script>window.errorsOfPage = []; addEventListener('error', "
    "(event) => window.errorsOfPage.push(event.message));</script>"
)

pytestmark = [
    needs_module,
    pytest.mark.skipif(_browser is None, reason="chromium is not installed"),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("results")
    for name in five:
        write(folder, name, [header, *rows_of(studies()[name])])
    return html(make(folder))


def ask(page: str, folder: Path, width: int) -> dict[str, Any]:
    """Opens the page with the probe at its end, and returns what that says."""
    probe = Path(__file__).with_name("report_probe.js").read_text(encoding="utf-8")
    watched = page.replace("<head>", f"<head>{_errors}", 1)
    watched = watched.replace("</body>", f"<script>{probe}</script></body>")
    (folder / "page.html").write_text(watched, encoding="utf-8")
    assert _browser is not None
    done = subprocess.run(
        [_browser, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900",
         f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr", "--dump-dom",
         (folder / "page.html").as_uri()],
        capture_output=True, text=True, timeout=seconds, check=False,
    )  # fmt: skip
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert console == []
    found = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.S)
    assert found, done.stderr[-2000:]
    return dict(json.loads(markup.unescape(found[1])))


@pytest.mark.parametrize("width", [1400, 500])
def test_the_page_lives(page: str, tmp_path: Path, width: int):
    told = ask(page, tmp_path, width)
    assert told["errors"] == []
    assert told["plots"] > 60 and told["drawn"] == told["plots"]
    assert re.search(r"ints \d+: [\d.,]+ ticks", told["tip"])
    assert told["zoomMovesCurves"] and told["zoomMakesMarks"] and told["resetRestores"]
    assert told["hides"] == 1 and told["shows"]
    assert told["theme"] in ("dark", "light")
    assert not told["sideways"], "the page must not scroll sideways"
