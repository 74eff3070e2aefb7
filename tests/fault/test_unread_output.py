# SPDX-License-Identifier: Apache-2.0
"""Output that nobody reads, or that has no lines, does not keep the first process from its work."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import termios
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from jobs import clean_environment, is_sanitized, limit, programs, soon

machines = ["processes:3", "processes:2x2"]


@contextmanager
def _job(*arguments: str, machine: str, output, errors, prefix: str = "1"):
    """A job whose output the test does not read by itself."""
    process = subprocess.Popen([programs / f"test_{arguments[0]}", *arguments[1:]],
                               env=clean_environment(SELION_MACHINE=machine, SELION_PREFIX=prefix),
                               stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                               start_new_session=True)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=limit)


def _bytes_in(file: int) -> int:
    return struct.unpack("i", fcntl.ioctl(file, termios.FIONREAD, b"\0" * 4))[0]


def _wait_until_full(file: int, process: subprocess.Popen) -> None:
    """Until nothing more comes though there is more."""
    before = -1
    while before < 1024 or before != _bytes_in(file):
        assert process.poll() is None
        before = _bytes_in(file)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)  # for whoever writes; it is long enough or hides a mistake


def _ends(kind: str) -> tuple[int, int]:
    """Of something that takes no more once it is full: to read from, to write to."""
    if kind == "terminal":
        return pty.openpty()
    if kind == "socket":
        return tuple(one.detach() for one in socket.socketpair())
    return os.pipe()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("errors", ["alone", "together"])
@pytest.mark.parametrize("kind", ["pipe", "terminal", "socket"])
def test_a_job_whose_output_nobody_reads_ends_by_a_signal(kind: str, errors: str,
                                                          number: signal.Signals):
    own, theirs = _ends(kind)
    try:
        with _job("surroundings", "much", "100000", machine="processes:3", output=theirs,
                  errors=theirs if errors == "together" else subprocess.PIPE) as process:
            _wait_until_full(own, process)
            os.kill(process.pid, number)
            assert process.wait(timeout=soon) == -number
            if errors == "alone":
                assert b"interrupted by " in process.stderr.read()
                process.stderr.close()
    finally:
        os.close(own)
        os.close(theirs)


@pytest.mark.parametrize("machine", machines)
def test_a_sentence_waits_for_its_reader(machine: str):
    """That of a death is the last that anybody wants to lose."""
    own, theirs = os.pipe()
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
    os.write(theirs, b"x" * 4096)
    with _job("dying", "segv" if not is_sanitized else "throw", "1", machine=machine,
              output=subprocess.DEVNULL, errors=theirs) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=3)  # longer than what is left is waited for after a signal
        os.close(theirs)
        text = b""
        while block := os.read(own, 65536):
            text += block
        assert process.wait(timeout=soon) in (139, 1)
    os.close(own)
    assert re.search(rb"rank 1 of \d ", text.lstrip(b"x"))


@pytest.mark.parametrize("prefix", ["0", "1"])
def test_a_signal_that_comes_while_a_sentence_waits_has_its_effect(prefix: str):
    """The last process has ended, so nobody else would be ended by it."""
    own, theirs = os.pipe()
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
    os.write(theirs, b"x" * 4096)
    with _job("dying", "segv" if not is_sanitized else "throw", "0", machine="processes:1",
              output=subprocess.DEVNULL, errors=theirs, prefix=prefix) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=3)
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(timeout=soon) == -signal.SIGTERM
    os.close(own)
    os.close(theirs)


@pytest.mark.parametrize("prefix", ["0", "1"])
def test_reports_for_a_terminal_that_nobody_reads_keep_nobody_from_the_end(prefix: str):
    """A terminal has room for a part of a sentence, and would wait with the rest."""
    own, theirs = pty.openpty()
    with _job("dying", "wait", "1", machine="processes:16", output=subprocess.PIPE,
              errors=theirs, prefix=prefix) as process:
        while not process.stdout.readline().endswith(b"dying\n"):
            assert process.poll() is None
        before = -1
        while before < 1024 or before != _bytes_in(own):
            before = _bytes_in(own)
            for _ in range(4):
                os.kill(process.pid, signal.SIGUSR1)
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(timeout=0.1)
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(timeout=soon) == -signal.SIGTERM
        process.stdout.close()
    os.close(own)
    os.close(theirs)


@pytest.mark.skipif(is_sanitized, reason="a sanitizer keeps what is given back for a while")
@pytest.mark.parametrize("machine", machines)
def test_an_endless_line_is_cut(machine: str):
    """It is not kept in memory until it ends."""
    mebibytes = 100
    own, theirs = os.pipe()
    with _job("surroundings", "endless", str(mebibytes), machine=machine, output=theirs,
              errors=subprocess.DEVNULL) as process:
        os.close(theirs)
        text = bytearray()
        most = 0
        while block := os.read(own, 1 << 20):
            text += block
            with suppress(FileNotFoundError, TypeError):  # it may just have ended
                status = Path(f"/proc/{process.pid}/status").read_text()
                most = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])
        assert process.wait(timeout=soon) == 0
    os.close(own)
    assert 0 < most < mebibytes * 1024 / 2
    printed = text.decode().rstrip("\n").split("\n")
    assert all(line.strip("x") in ("[0] ", "[0-1] ") for line in printed)
    assert text.count(b"x") == mebibytes << 20
    assert mebibytes / 2 <= len(printed) <= mebibytes


def test_a_sentence_for_a_file_that_does_not_block_is_complete():
    """Whoever started the program may have made its standard error so."""
    own, theirs = os.pipe()
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(theirs, False)
    machine = "thread" + "s" * 20_000
    with _job("surroundings", "status", "0", machine=machine, output=subprocess.DEVNULL,
              errors=theirs) as process:
        os.close(theirs)
        text = b""
        while block := os.read(own, 1024):
            text += block
        assert process.wait(timeout=soon) == 2
    os.close(own)
    assert len(text) > 20_000
    assert text[:16] == b"selion: machine " and text[-1:] == b"\n"
