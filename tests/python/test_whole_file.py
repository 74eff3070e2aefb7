# SPDX-License-Identifier: Apache-2.0
"""Files are written whole or not at all."""

from __future__ import annotations

import os
import stat
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


def test_a_link_stays_one_and_what_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "file", tmp_path / "link"
    link.symlink_to("folder/file")
    for text in ("one", "two"):  # also where it leads to nothing yet
        write_whole(link, text)
        assert (link.is_symlink(), target.read_text()) == (True, text)
    assert [each.name for each in target.parent.iterdir()] == ["file"]


def test_what_is_no_file_takes_the_content_and_stays(tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to("pipe")
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        for path in (pipe, link):
            assert write_whole(path, "text") == 4
            assert os.read(reading, 100) == b"text"
    finally:
        os.close(reading)
    assert stat.S_ISFIFO(os.lstat(pipe).st_mode) and link.is_symlink()


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
