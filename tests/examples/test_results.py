# SPDX-License-Identifier: Apache-2.0
"""Results do not depend on the machine, nor on the number of ranks. (That they are right the
programs check themselves, on every machine: examples/CMakeLists.txt.)"""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys

import pytest
from started import machines, output, root

same_everywhere = {
    "heat": ["--size", 33, "--steps", 50],
    "conjugate_gradients": ["--poisson", 17],
    "histogram": ["--values", 5000, "--bins", 7],
    "fft_transpose": ["--size", 16],
    "key_value": ["--operations", 3000, "--keys", 50],
}


def without_ranks(text: str) -> str:
    return re.sub(r"\b\d+ ranks\b", "N ranks", text)


@pytest.mark.parametrize("program", same_everywhere)
def test_results_are_the_same_on_every_machine(program):
    arguments = same_everywhere[program]
    told = {without_ranks(output(program, *arguments, machine=m)) for m in machines}
    assert len(told) == 1


def test_the_tree_has_the_same_nodes_on_every_machine():
    told = {output("work_stealing", "--width", 100, machine=m).splitlines()[0] for m in machines}
    assert len(told) == 1


@pytest.mark.parametrize("machine", ["threads:64@2", "processes:8", "sim:epiphany-iii"])
def test_more_ranks_than_there_is_to_divide(machine):
    output("heat", "--size", 3, "--steps", 5, machine=machine)
    output("conjugate_gradients", "--poisson", 1, machine=machine)
    output("histogram", "--values", 3, "--bins", 1, machine=machine)
    output("fft_transpose", "--size", 2, machine=machine)
    output("work_stealing", "--width", 1, machine=machine)
    output("key_value", "--operations", 1, "--keys", 1, machine=machine)


@pytest.mark.parametrize("program", ["work_stealing", "key_value"])
def test_messages_in_other_orders(program):
    less = {"work_stealing": ["--width", 30], "key_value": ["--operations", 500, "--keys", 5]}
    for seed in range(5):
        output(program, *less[program], machine=f"sim:crossbar,ranks=4,explore=random,seed={seed}")


@pytest.mark.parametrize("depth", [1, 3])
def test_no_more_operations_are_under_way_than_depth_says(depth, tmp_path):
    trace = tmp_path / "trace.json"
    output("key_value", "--operations", 200, "--keys", 3, "--depth", depth,
           machine="sim:crossbar,ranks=2", settings={"SELION_TRACE": str(trace)})
    events = [event for event in json.loads(trace.read_text()) if event["ph"] == "X"]
    under_way = [0, 0]  # calls of each rank to the other one
    most = 0
    for event in sorted(events, key=lambda event: event["ts"]):
        rank = (event["tid"] - 1) // 2  # each has a track for its calls, one for what arrives
        if event["name"] == "rpc" and event["args"]["to"] != rank:
            under_way[rank] += 1
        elif event["name"] == "answer" and event["args"]["from"] != rank:
            under_way[rank] -= 1
        most = max(most, *under_way)
    assert (most, under_way) == (depth, [0, 0])


def test_the_picture_is_a_picture(tmp_path):
    size = 20
    for machine in machines:
        output("heat", "--size", size, "--steps", 30, "--picture", f"{machine}.ppm",
               machine=machine, folder=tmp_path)
    pictures = {(tmp_path / f"{machine}.ppm").read_bytes() for machine in machines}
    assert len(pictures) == 1
    header, sides, most, pixels = pictures.pop().split(b"\n", 3)
    assert (header, sides, most) == (b"P6", b"20 20", b"255")
    assert len(pixels) == 3 * size * size
    assert pixels[: 3 * size] == b"\xff" * (3 * size)  # the hot edge is white
    assert pixels[-3:] == b"\x00\x00\x00"  # a cold corner is black
    red = [pixels[3 * (row * size + size // 2)] for row in range(size)]
    assert red[0] == 255 and red[-1] == 0 and red == sorted(red, reverse=True)


def convert(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, root / "scripts" / "mat-to-mtx", *map(str, arguments)],
                          capture_output=True, text=True, timeout=60)


def has_pyamg() -> bool:
    try:
        importlib.metadata.distribution("pyamg")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


@pytest.mark.skipif(not has_pyamg(), reason="the package pyamg, which ships matrices, is missing")
@pytest.mark.parametrize(("name", "rows", "entries"),
                         [("bar", 600, 23402), ("airfoil", 260, 1682), ("knot", 239, 1667)])
def test_a_real_matrix(name, rows, entries, tmp_path):
    file = tmp_path / f"{name}.mtx"
    converted = convert(f"pyamg:{name}", file)
    assert (converted.returncode, converted.stderr) == (0, "")
    told = {without_ranks(output("conjugate_gradients", "--matrix", file, machine=m))
            for m in machines}
    assert len(told) == 1
    assert f"{rows} rows, {entries} entries" in told.pop()


@pytest.mark.skipif(not has_pyamg(), reason="the package pyamg, which ships matrices, is missing")
def test_matrices_that_are_not_there_are_told(tmp_path):
    complex_one = convert("pyamg:helmholtz_2D", tmp_path / "a.mtx")
    assert complex_one.returncode == 1
    assert complex_one.stderr.endswith(": A is not a sparse matrix of real numbers\n")
    absent = convert("pyamg:bar", tmp_path / "a.mtx", "--name", "Z")
    assert absent.returncode == 1 and absent.stderr.endswith(": there is no matrix Z\n")


def test_files_that_cannot_be_converted_are_told(tmp_path):
    (tmp_path / "a.mat").write_bytes(b"hello")
    (tmp_path / "cut.mat").write_bytes(b" " * 124 + b"\x00\x01IM" + b"\x0e\x00\x00\x00\xff\xff")
    for name, sentence in {
        "a.mat": "not a MATLAB file of version 5 with the low byte first",
        "cut.mat": "it ends within an element",
        "absent.mat": "No such file or directory",
    }.items():
        done = convert(tmp_path / name, tmp_path / "a.mtx")
        assert done.returncode == 1
        assert done.stderr == f"mat-to-mtx: {tmp_path / name}: {sentence}\n"
