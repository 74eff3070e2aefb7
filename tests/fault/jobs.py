# SPDX-License-Identifier: Apache-2.0
"""Jobs as a user starts them: as programs of their own, watched from outside, with a time limit."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

folder = Path(__file__).resolve().parent
programs = Path(os.environ.get("TEST_BIN_DIR", folder.parents[1] / "build/dev/bin"))
# Those that measure: the tests' own build mostly has none.
measuring = folder.parents[1] / "build/release/bin"

limit = 60.0  # for anything that must end; far more than it takes


def _build() -> tuple[int, bool]:
    """Check level of the programs, and whether a sanitizer is in them."""
    assert programs.is_dir(), f"{programs} is missing: build first, or set TEST_BIN_DIR"
    out = subprocess.check_output([programs / "test_misusing", "build"], text=True, timeout=limit)
    level, is_sanitized = out.split()
    return int(level), is_sanitized == "1"


check_level, is_sanitized = _build()
#: Seconds within which a job must be gone once something has ended it: it takes half a second, but
#: where others have the processors.
soon = 20.0


def trying(**tries: Sequence) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """For a test that a busy host may spoil: it passes once a try does.

    Each try gives it the next value of a parameter, for which pytest looks no fixture up. Goes
    below all marks."""
    [(name, values)] = tries.items()

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def tried(**named) -> None:
            for value in values[:-1]:
                # There may be too much to be unpacked, or a process less than expected.
                with contextlib.suppress(AssertionError, ValueError, OSError):
                    return test(**named, **{name: value})
            return test(**named, **{name: values[-1]})

        wanted = inspect.signature(test).parameters.values()
        tried.__signature__ = inspect.Signature([one for one in wanted if one.name != name])
        return tried

    return decorate


#: Gives a test its `timeout`: seconds after which waits are taken for hangs. They are few, so that
#: it is quick. Where a rank was held up for longer, a report came too early.
patiently = trying(timeout=("2", "20") if is_sanitized else ("0.3", "2", "20"))


def clean_environment(**changes: str) -> dict[str, str]:
    """Ours without variables of Selion and what was tuned on this host, with `changes`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SELION_")}
    if is_sanitized:
        # ThreadSanitizer stays for a second when a process wants to leave, as long as the library
        # allows a job that must end.
        kept["TSAN_OPTIONS"] = kept.get("TSAN_OPTIONS", "") + " atexit_sleep_ms=0"
    return {**kept, "XDG_CACHE_HOME": "/proc/none", **changes}


def site(files: str, mark: str) -> str:
    """`file:line` of the statement that is marked `// site: mark`, as the library prints it.

    It is in one of the files that match the pattern."""
    found = [f"{path}:{number}" for path in folder.glob(files)
             for number, line in enumerate(path.read_text().split("\n"), 1)
             if line.endswith(f"// site: {mark}")]
    assert len(found) == 1, f"{files} has {len(found)} places marked {mark}"
    return found[0]


def cpu_seconds_of(usage) -> float:
    return usage.ru_utime + usage.ru_stime


@dataclass
class Outcome:
    status: int  #: as subprocess has it: negative for a signal
    out: str
    err: str
    cpu_seconds: float  #: of all processes

    def sentences(self) -> list[str]:
        """What Selion said, without what follows in indented lines."""
        return [line[8:] for line in self.err.split("\n") if line.startswith("selion: ")]


class Job:
    """A running job, killed with all its processes at the end of the `with`."""

    def __init__(self, program: str, *arguments: str, machine: str = "", prepare=None,
                 command=(), **changes: str):
        if machine:
            changes["SELION_MACHINE"] = machine
        self.process = subprocess.Popen(
            [*(command or [programs / f"test_{program}"]), *arguments],
            env=clean_environment(**changes),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=prepare,
        )
        self._texts = {"out": b"", "err": b""}
        self._reader = selectors.DefaultSelector()
        self._reader.register(self.process.stdout, selectors.EVENT_READ, "out")
        self._reader.register(self.process.stderr, selectors.EVENT_READ, "err")

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_) -> None:
        self._kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        self._reader.close()

    @property
    def out(self) -> str:
        return self._texts["out"].decode()

    @property
    def err(self) -> str:
        return self._texts["err"].decode()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        if self.process.returncode is None:
            self.process.wait()

    def _pump(self, seconds: float) -> None:
        for key, _ in self._reader.select(max(0.0, seconds)):
            block = os.read(key.fileobj.fileno(), 65536)
            self._texts[key.data] += block
            if not block:
                self._reader.unregister(key.fileobj)

    def _give_up(self, what: str) -> None:
        """Lets the job say what it waits for, and fails."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGUSR1)
        self.run_for(1)
        self._kill()
        raise AssertionError(f"{what}\nstandard output:\n{self.out}\nstandard error:\n{self.err}")

    def wait_for(self, pattern: str, times: int = 1) -> list[re.Match]:
        """Reads until what has been printed has `times` matches."""
        end = time.monotonic() + limit
        while True:
            found = list(re.finditer(pattern, self.out + self.err, re.MULTILINE))
            if len(found) >= times:
                return found
            if not self._reader.get_map() or time.monotonic() > end:
                self._give_up(f"{len(found)} instead of {times} times {pattern!r}")
            self._pump(end - time.monotonic())

    def run_for(self, seconds: float) -> None:
        """Lets it run, while it prints what it likes."""
        end = time.monotonic() + seconds
        while self._reader.get_map() and time.monotonic() < end:
            self._pump(end - time.monotonic())

    def say(self, text: str) -> None:
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def processes(self, ranks: int) -> dict[int, int]:
        """Process number of each rank, from lines that the program prints."""
        lines = self.wait_for(r"^rank (\d+) process (\d+)$", ranks)
        return {int(line[1]): int(line[2]) for line in lines}

    def end(self, within: float = limit) -> Outcome:
        """Waits until all processes of the job have closed their output and the first has ended."""
        end = time.monotonic() + within
        while self._reader.get_map():
            if time.monotonic() > end:
                self._give_up(f"the job goes on after {within} s")
            self._pump(end - time.monotonic())
        while True:
            done, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if done:
                break
            if time.monotonic() > end:
                self._give_up(f"the first process goes on after {within} s")
            time.sleep(0.001)  # it closes its output just before it ends
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return Outcome(self.process.returncode, self.out, self.err, cpu_seconds_of(usage))


def run(program: str, *arguments: str, machine: str = "", prepare=None,
        **changes: str) -> Outcome:
    """Runs a job to its end, with empty input. @param prepare called in the process before."""
    with Job(program, *arguments, machine=machine, prepare=prepare, **changes) as job:
        job.process.stdin.close()
        return job.end()


def members_of(group: int) -> list[int]:
    """Living processes of a process group."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and is_alive(int(entry.name)):
            with contextlib.suppress(ProcessLookupError):
                if os.getpgid(int(entry.name)) == group:
                    found.append(int(entry.name))
    return found


def is_alive(process: int) -> bool:
    """Whether a process runs; one that has ended and is not yet buried does not."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rsplit(")", 1)[1].split()[0] not in "ZX"


def wait_until_gone(processes, seconds: float) -> list[int]:
    """@return those that are still alive when the time is over."""
    end = time.monotonic() + seconds
    while (left := [one for one in processes if is_alive(one)]) and time.monotonic() < end:
        time.sleep(0.005)  # nobody's children: there is nothing to wait on
    return left


def files_used_by(process: int) -> set[str]:
    """Named files that a process has open or mapped."""
    names = set()
    for entry in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(OSError):
            names.add(os.readlink(entry))
    for line in Path(f"/proc/{process}/maps").read_text().split("\n"):
        parts = line.split(maxsplit=5)
        if len(parts) == 6:
            names.add(parts[5])
    return names


def names_of_memory() -> set[str]:
    """Names in file systems that a job may have left there."""
    # Folders of the command line, which other tests may use meanwhile, begin with "selion-".
    return {name for place in ("/dev/shm", "/tmp") for name in os.listdir(place)
            if re.search("selion(?!-)|test_dying", name)}
