# SPDX-License-Identifier: Apache-2.0
"""Files that ranks leave open, which their processes write out as they end."""

from __future__ import annotations

import bz2
import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import clean_environment, needs_module, seconds

pytestmark = needs_module

_begin = """
import bz2, gzip, io, os, socket, sys, threading, time, zlib
import selion
kept = []
class Plain(io.RawIOBase):
    def __init__(self, name): self.name, self.words = name, []
    def writable(self): return True
    def write(self, data): self.words.append(bytes(data)); return len(data)
    def close(self):
        if not self.closed:
            with open(self.name, "wb") as file: file.write(b"".join(self.words))
        super().close()
class Own(io.FileIO): pass
class Log(io.TextIOWrapper): pass
"""


def _run(folder: Path, text: str, machine: str = "processes:1",
         **options: object) -> subprocess.CompletedProcess[str]:
    path = folder / "program.py"
    path.write_text(_begin + text)
    streams = {"stdout": subprocess.PIPE, "cwd": folder, **options}
    return subprocess.run([sys.executable, str(path)], text=True, stdin=subprocess.DEVNULL,
                          env=clean_environment(SELION_MACHINE=machine), stderr=subprocess.PIPE,
                          timeout=seconds, **streams)


_leaves_open = """
import tempfile
def leave(world):
    def name(kind): return f"{kind}{world.rank}"
    kept = [open(name("text"), "w"), open(name("both"), "w+"), gzip.open(name("gz"), "wt"),
            io.TextIOWrapper(io.BufferedWriter(Plain(name("own")))), open(1, "w", closefd=False)]
    for each in kept:
        each.write("hello")
    packed = bz2.open(name("bz2"), "wb")
    packed.write(b"hello")
    class Ring: pass
    ring = Ring()
    ring.self, ring.file = ring, open(name("ring"), "w")
    ring.file.write("hello")
    globals()["kept"] = kept, packed
    {}
selion.run(leave)
"""


@pytest.mark.parametrize("end", ["return", "sys.exit(0)", "sys.exit(3)", "raise ValueError"])
def test_files_that_ranks_leave_open_are_written(tmp_path, end):
    done = _run(tmp_path, _leaves_open.replace("    {}\n", f"    {end}\n"))
    assert (done.returncode != 0) == (end in ("sys.exit(3)", "raise ValueError"))
    is_read = end != "raise ValueError"  # who fails waits for no reader, and this is a pipe
    assert done.stdout == "hello" * is_read and "Exception ignored" not in done.stderr
    for kind in ("text0", "both0", "own0", "ring0"):
        assert (tmp_path / kind).read_text() == "hello", kind
    assert gzip.open(tmp_path / "gz0").read() == bz2.open(tmp_path / "bz20").read() == b"hello"


@pytest.mark.parametrize("end", ["return", "sys.exit(3)", "raise ValueError"])
@pytest.mark.parametrize("ages", ["", "gc.collect()"])
def test_buffers_are_written_before_what_is_below_them_is_closed(tmp_path, end, ages):
    """Also where that is an object of an older generation, and no text is above."""
    done = _run(tmp_path, f"""
import gc
def leave(world):
    below = [Plain("raw"), Own("file", "w"), bz2.open("nested", "wb")]
    {ages or "pass"}
    above = [io.BufferedWriter(below[0]), io.BufferedWriter(below[1]),
             gzip.GzipFile(fileobj=below[2], mode="wb")]
    kept.extend(below + above)
    for each in above:
        each.write(b"hello")
    {end}
selion.run(leave)
""")
    assert (done.returncode != 0) == (end != "return"), done.stderr
    assert (tmp_path / "raw").read_text() == (tmp_path / "file").read_text() == "hello"
    assert gzip.decompress(bz2.open(tmp_path / "nested").read()) == b"hello"


# From Python 3.12 on files of gzip are such: a buffer lies above a raw file within.
_with_inner = """
class Inner(io.RawIOBase):
    def __init__(self, above): self.above = above
    def writable(self): return True
    def write(self, data): return self.above.pack(data)
class Packed(io.BufferedIOBase):
    def __init__(self, name):
        self.file, self.made = open(name, "wb"), zlib.compressobj()
        self.inner = io.BufferedWriter(Inner(self))
    def writable(self): return True
    def pack(self, data): self.file.write(self.made.compress(data)); return len(data)
    def write(self, data): return self.inner.write(data)
    def close(self):
        if not self.inner.closed:
            self.inner.flush()
            self.file.write(self.made.flush())
            self.file.close()
            self.inner.close()
"""


def test_files_that_have_a_raw_one_within_are_whole(tmp_path):
    done = _run(tmp_path, _with_inner + """
def leave(world):
    kept.extend([Packed("bytes"), io.TextIOWrapper(Packed("text"))])
    kept[0].write(b"hello")
    kept[1].write("hello")
selion.run(leave)
import zlib
print(*(zlib.decompress(open(name, "rb").read()) for name in ("bytes", "text")))
""")
    assert (done.stdout, done.stderr) == ("b'hello' b'hello'\n", "")


def test_what_is_left_in_a_socket_is_sent(tmp_path):
    done = _run(tmp_path, """
def leave(world):
    here, there = socket.socketpair()
    file = here.makefile("wb")
    file.write(b"hello")
    kept.extend([here, file])
    if os.fork() == 0:
        os.close(here.fileno())
        print(there.recv(100), flush=True)
        os._exit(0)
selion.run(leave)
""")
    assert (done.stdout, done.stderr) == ("b'hello'\n", "")


@pytest.mark.parametrize("opens", ["gzip.open('x', 'wb')", "bz2.open('x', 'wb')", "Odd()"])
def test_files_hide_no_exception_of_a_rank(tmp_path, opens):
    """Closed ones of gzip have no descriptor to ask for; some raise what ends a program."""
    done = _run(tmp_path, f"""
class Odd(io.RawIOBase):
    def fileno(self): raise KeyError("no number")
    def close(self): raise SystemExit("not this one")
def fail(world):
    file = {opens}
    try: file.close()
    except SystemExit: pass
    kept.append(file)
    sys.stdout.write("no end of line")
    raise ValueError("boom")
selion.run(fail)
""")
    assert done.returncode == 1 and done.stdout == "no end of line"
    assert "[rank 0] ValueError: boom" in done.stderr
    assert "rank 0 of 1 ended with an exception of type ValueError: boom" in done.stderr


@pytest.mark.parametrize("leaves", [
    "open(os.pipe()[1], 'wb', buffering=1 << 20)",
    "pairs[0].makefile('wb', buffering=1 << 22)",
    "pairs[0].makefile('rwb', buffering=1 << 22)",
    "io.BufferedWriter(pairs[0].makefile('rwb', buffering=0), 1 << 22)",
])
def test_a_rank_that_fails_waits_for_no_reader_of_what_it_leaves_open(tmp_path, leaves):
    done = _run(tmp_path, f"""
def main(world):
    pairs = socket.socketpair()
    file = {leaves}
    kept.extend([pairs, file])
    file.write(bytes(1 << 19))
    raise ValueError("no such luck")
selion.run(main)
""")
    assert done.returncode == 1 and "ValueError: no such luck" in done.stderr


def test_a_thread_that_is_within_a_write_holds_up_no_end(tmp_path):
    done = _run(tmp_path, """
import array, fcntl, termios
def main(world):
    reads, writes = os.pipe()
    file = open(writes, "wb")
    kept.extend([reads, file, open("file", "w")])
    kept[-1].write("hello")
    threading.Thread(target=file.write, args=(bytes(1 << 20),), daemon=True).start()
    filled = array.array("i", [0])
    while filled[0] < 1 << 16:  # as much as there is room for
        fcntl.ioctl(reads, termios.FIONREAD, filled)
selion.run(main)
print(open("file").read())
""")
    assert (done.stdout, done.stderr) == ("hello\n", "")


def test_what_is_above_standard_streams_is_written_after_them(tmp_path):
    done = _run(tmp_path, """
def main(world):
    log = Log(sys.stdout.buffer, encoding="utf-8")
    kept.append(log)
    sys.stdout.write("no end of line, ")
    log.write("from log")
selion.run(main)
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "no end of line, from log", "")


def test_calls_after_a_ranks_function_write_to_what_it_has_left_open(tmp_path):
    done = _run(tmp_path, """
def note(words):
    kept[0].write(words)
    kept[1].write(words)
    sys.stdout.write(words)
def main(world):
    bell = world.signal()
    kept.extend([open(f"text{world.rank}", "w"), gzip.open(f"gz{world.rank}", "wt")])
    world.barrier()
    if world.rank == 1:
        import atexit
        atexit.register(lambda: bell.notify(0))
        return
    bell.wait_until(1)
    for _ in range(100):
        world.call(1, note, "late ").result()
selion.run(main)
""", "processes:2")
    assert (done.returncode, done.stdout, done.stderr) == (0, "late " * 100, "")
    assert (tmp_path / "text1").read_text() == "late " * 100
    assert gzip.open(tmp_path / "gz1", "rt").read() == "late " * 100
