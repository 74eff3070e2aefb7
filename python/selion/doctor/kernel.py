# SPDX-License-Identifier: Apache-2.0
"""Kernel calls that the machines stand on, tried rather than guessed from the version."""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform

from selion.doctor.check import Check, judged, passed

_libc = ctypes.CDLL(None, use_errno=True)

# Numbers of system calls without a function in the C library: membarrier, futex.
_numbers = {"x86_64": (324, 202), "aarch64": (283, 98), "riscv64": (283, 98)}
_membarrier_query = 0
_private_expedited = 1 << 3
_futex_wake = 1


class _Part(ctypes.Structure):
    """`struct iovec`."""

    _fields_ = (("start", ctypes.c_void_p), ("bytes", ctypes.c_size_t))


def _syscall(number: int, *arguments: int | None) -> int:
    """The call's result, or minus the error number."""
    ctypes.set_errno(0)
    result = _libc.syscall(ctypes.c_long(number), *(ctypes.c_void_p(each) for each in arguments))
    return result if result != -1 else -ctypes.get_errno()


def _version() -> Check:
    release = platform.release()
    digits = release.split("-")[0].split(".")
    is_new_enough = tuple(int(part) for part in digits[:2] if part.isdigit()) >= (4, 14)
    return judged(
        "kernel",
        is_new_enough,
        f"{platform.system()} {release}",
        ("fail", "use Linux 4.14 or newer"),
    )


def _memfd() -> Check:
    try:
        descriptor = os.memfd_create("selion-doctor", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except OSError as problem:
        cure = "allow memfd_create in the sandbox; without it only 'threads' runs"
        return Check("memfd_create", "fail", problem.strerror or "fails", cure)
    try:
        os.ftruncate(descriptor, 4096)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        return passed("memfd_create", "works, with seals")
    except OSError as problem:
        cure = "allow F_ADD_SEALS in the sandbox; without it only 'threads' runs"
        return Check("memfd_create", "fail", problem.strerror or "fails", cure)
    finally:
        os.close(descriptor)


def _futex() -> Check:
    numbers = _numbers.get(platform.machine())
    if numbers is None:
        return passed("futex", f"not tried on {platform.machine()}")
    word = ctypes.c_uint32(0)
    woken = _syscall(numbers[1], ctypes.addressof(word), _futex_wake, 1, None, None, 0)
    found = "works" if woken >= 0 else os.strerror(-woken)
    return judged("futex", woken >= 0, found, ("fail", "allow futex in the sandbox"))


def _membarrier() -> Check:
    numbers = _numbers.get(platform.machine())
    if numbers is None:
        return passed("membarrier", f"not tried on {platform.machine()}")
    commands = _syscall(numbers[0], _membarrier_query, 0, 0)
    if commands < 0:
        found = os.strerror(-commands)
    else:
        found = "private expedited" if commands & _private_expedited else "no private expedited"
    return judged(
        "membarrier",
        commands >= 0 and bool(commands & _private_expedited),
        found,
        ("warn", "allow membarrier in the sandbox; without it each signal costs a fence more"),
    )


def _process_memory() -> Check:
    """Whether processes of a job can read each other's memory."""
    word, found = ctypes.c_uint64(7), ctypes.c_uint64(0)
    here, there = _Part(ctypes.addressof(found), 8), _Part(ctypes.addressof(word), 8)
    done = _libc.process_vm_readv(os.getpid(), ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    cure = "long blocks between processes are copied twice; allow process_vm_readv in the sandbox"
    if done != 8:
        return Check("process memory", "warn", os.strerror(ctypes.get_errno()), cure)
    scope = _ptrace_scope()
    # Ranks permit each other what scope 1 asks for.
    is_readable = scope <= 1 or (scope == 2 and os.geteuid() == 0)
    found_text = "can be read" if is_readable else f"kernel.yama.ptrace_scope is {scope}"
    cure = "long blocks between processes are copied twice; set kernel.yama.ptrace_scope to 1"
    return judged("process memory", is_readable, found_text, ("warn", cure))


def _ptrace_scope() -> int:
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope", encoding="ascii") as file:
            return int(file.read())
    except OSError:
        return 0


def checks() -> list[Check]:
    return [_version(), _memfd(), _futex(), _membarrier(), _process_memory()]
