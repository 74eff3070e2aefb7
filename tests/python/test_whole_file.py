# SPDX-License-Identifier: Apache-2.0
"""Files are written whole or not at all."""

from __future__ import annotations

import os
import threading

import pytest

from selion.mistake import Failure
from selion.whole_file import replace_whole, write_whole


def test_a_file_has_the_permissions_of_any_other(tmp_path):
    (tmp_path / "other").write_text("")
    assert write_whole(tmp_path / "new" / "file", "ä") == 2
    assert (tmp_path / "new" / "file").read_text(encoding="utf-8") == "ä"
    of = [path.stat().st_mode for path in (tmp_path / "other", tmp_path / "new" / "file")]
    assert of[0] == of[1]


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(Failure, match="folder cannot be written: Is a directory"):
        write_whole(tmp_path / "folder", "text")
    with pytest.raises(FileNotFoundError):
        replace_whole(tmp_path / "nowhere" / "file", b"text")
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


def test_two_writers_do_not_mix(tmp_path):
    path = tmp_path / "file"
    texts = [letter * 100_000 for letter in "ab"]

    def write(text):
        for _ in range(50):
            write_whole(path, text)

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert not path.exists() or path.read_text() in texts
    assert os.listdir(tmp_path) == ["file"]
