# SPDX-License-Identifier: Apache-2.0
"""selion calibrate: the machine file that it writes, and what it does not write."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from conftest import clean_environment, root, seconds, write_script
from selion import calibration, native, network_calibration, places
from selion.mistake import Failure

_figures = (
    "load_ns store_ns int_op_ns product_sum_ns poll_ns atomic_ns copied_byte_ns block_byte_ns "
    "from_memory_ns memory_bytes_per_ns near_ns far_ns flag_ns"
).split()


def _found(*without: str, **changes: Any) -> dict[str, Any]:
    """What the measuring program might say: figures are 1, 2, 3, … in the order above."""
    figures = {
        name: {"median": float(number), "p5": number - 0.5, "p95": number + 0.5, "n": 51}
        for number, name in enumerate(_figures, start=1)
        if name not in without
    }
    figures.update(changes.pop("figures", {}))
    return {
        "cores": 4,
        "sockets": 2,
        "cores_per_socket": 2,
        "cores_per_cache": 2,
        "line_bytes": 64,
        "last_cache_bytes": 1 << 20,
        "own_cache_bytes": 16384,
        "block_bytes": 1 << 20,
        "large_bytes": 64 << 20,
        "figures": figures,
        **changes,
    }


def _table(found: dict[str, Any], name: str) -> dict[str, Any]:
    return dict(tomllib.loads(calibration.machine_file(found, quick=False))[name])


@pytest.fixture
def fake(tmp_path: Path) -> dict[str, str]:
    """A measuring program that notes its runs, and the environment in which it is found."""
    text = f"""
        import sys
        open({str(tmp_path / "log")!r}, "a").write(" ".join(sys.argv[1:]) + "\\n")
        print({json.dumps(json.dumps(_found()))})
    """
    write_script(tmp_path / "bin" / "study_calibrate", text)
    return {"SELION_BIN": str(tmp_path / "bin")}


# --- the text of the file -------------------------------------------------------------------------


def test_the_keys_are_those_of_the_shipped_file():
    shipped = tomllib.loads((root / "machines" / "this-host.toml").read_text(encoding="utf-8"))
    written = tomllib.loads(calibration.machine_file(_found(), quick=False))
    for table in ("processor", "node"):
        assert set(written[table]) == set(shipped[table]) - {"source"}


@pytest.mark.parametrize(
    "without", [(), ("far_ns",), ("near_ns",), ("near_ns", "far_ns", "flag_ns")]
)
def test_every_constant_says_where_it_comes_from(without):
    for table in ("processor", "node"):
        for key, constant in _table(_found(*without), table).items():
            assert constant["value"] >= 0, key
            words = ("fitted on 51 measurements of this host, median", "assumed because", "given:")
            assert constant["source"].startswith(words), key


def test_derived_constants():
    figures = {
        "near_ns": {"median": 70.0, "p5": 69.0, "p95": 71.0, "n": 51},
        "flag_ns": {"median": 150.0, "p5": 149.0, "p95": 151.0, "n": 51},
    }
    node = _table(_found(figures=figures), "node")
    assert node["wake_ns"]["value"] == pytest.approx(10)
    assert node["line_service_ns"]["value"] == pytest.approx(70)
    assert node["atomic_ns"]["value"] == pytest.approx(6 - 1)
    assert node["copy_gb_per_s"]["value"] == pytest.approx(1 / 8, abs=1e-3)
    assert node["memory_gb_per_s"]["value"] == pytest.approx(10 / 2)  # of each of two sockets
    assert _table(_found(), "processor")["flop_ns"]["value"] == pytest.approx((4 - 2 * 1) / 2)


def test_a_flag_faster_than_its_crossings_costs_nothing_more_and_says_so():
    figures = {
        "near_ns": {"median": 70.0, "p5": 69.0, "p95": 71.0, "n": 51},
        "flag_ns": {"median": 120.0, "p5": 119.0, "p95": 121.0, "n": 51},
    }
    wake = _table(_found(figures=figures), "node")["wake_ns"]
    assert wake["value"] == 0
    assert "-20 ns" in wake["source"]


def test_other_costs_of_which_nothing_is_left_say_so_too():
    figures = {name: {"median": value, "p5": value, "p95": value, "n": 51}
               for name, value in (("load_ns", 3.0), ("product_sum_ns", 4.0), ("atomic_ns", 1.0))}
    found = _found(figures=figures)
    for constant in (_table(found, "processor")["flop_ns"], _table(found, "node")["atomic_ns"]):
        assert constant["value"] == 0
        assert re.search("; that is -[12] ns, and no cost is less than 0", constant["source"])


def test_what_a_host_lacks_is_assumed():
    node = _table(_found("far_ns"), "node")
    assert node["far_ns"]["source"].startswith("assumed because")
    assert node["far_ns"]["value"] == node["near_ns"]["value"]
    alone = _table(_found("near_ns", "far_ns", "flag_ns"), "node")
    for key in ("near_ns", "far_ns", "wake_ns"):
        assert alone[key]["source"].startswith("assumed because")


# --- the command ----------------------------------------------------------------------------------


def test_it_writes_and_says_how_to_use_the_file(selion, fake, tmp_path):
    done = selion("calibrate", **fake)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "SELION_MACHINE=sim:./this-host.toml ./program\n"
    assert tomllib.loads((tmp_path / "this-host.toml").read_text())["machine"]["name"]
    assert selion("calibrate", "--quick", "-o", f"{tmp_path}/b.toml", **fake).returncode == 0
    assert (tmp_path / "log").read_text() == "\n--quick\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "b.toml",
        "bin",
        "log",
        "this-host.toml",
    ]


def test_a_file_that_exists_is_kept(selion, fake, tmp_path):
    (tmp_path / "this-host.toml").write_text("mine")
    done = selion("calibrate", **fake)
    assert (done.returncode, done.stdout) == (2, "")
    assert "'this-host.toml' exists already; --force replaces it" in done.stderr
    assert (tmp_path / "this-host.toml").read_text() == "mine"
    assert not (tmp_path / "log").exists()  # found before anything was measured
    assert selion("calibrate", "--force", **fake).returncode == 0
    assert (tmp_path / "this-host.toml").read_text() != "mine"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("file/deep/a.toml", "'file' is no folder"),
        ("this-host", "is no name of a machine file"),
        ("a,b.toml", "is no name of a machine file"),
        ("folder.toml", "is a folder"),
    ],
)
def test_a_path_that_cannot_be_written_is_a_sentence(selion, fake, tmp_path, path, words):
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "file").write_text("mine")
    done = selion("calibrate", "-o", path, **fake)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "log").exists()


def test_folders_that_are_missing_are_made(selion, fake, tmp_path):
    done = selion("calibrate", "-o", "new/deep/a.toml", **fake)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "SELION_MACHINE=sim:new/deep/a.toml ./program\n"
    assert [each.name for each in (tmp_path / "new" / "deep").iterdir()] == ["a.toml"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
@pytest.mark.parametrize("path", ["closed/a.toml", "closed/new/a.toml"])
def test_a_folder_without_permission(selion, fake, tmp_path, path):
    (tmp_path / "closed").mkdir(mode=0o500)
    done = selion("calibrate", "-o", path, **fake)
    assert done.returncode == 2
    assert "no permission" in done.stderr


def test_bad_arguments(selion, fake):
    for arguments in (("--quik",), ("something",), ("-o",)):
        done = selion("calibrate", *arguments, **fake)
        assert done.returncode == 2
        assert done.stderr


def test_a_program_that_fails_writes_nothing(selion, tmp_path):
    script = "import sys; sys.exit('study_calibrate: no clock')"
    write_script(tmp_path / "bin" / "study_calibrate", script)
    done = selion("calibrate", SELION_BIN=str(tmp_path / "bin"))
    assert done.returncode == 1
    assert "study_calibrate: no clock" in done.stderr
    assert not (tmp_path / "this-host.toml").exists()


def test_no_prefix_stands_before_the_answer(selion, tmp_path):
    script = f"""
        import os, sys
        print(os.environ.get("SELION_PREFIX", "") + {json.dumps(json.dumps(_found()))})
    """
    write_script(tmp_path / "bin" / "study_calibrate", script)
    done = selion("calibrate", SELION_BIN=str(tmp_path / "bin"), SELION_PREFIX="1")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("answer", ["hello\nworld", "[1]", "", "{", "\xff"])
def test_an_answer_that_is_no_json_object_is_a_sentence(selion, tmp_path, answer):
    script = f"import sys; sys.stdout.buffer.write({answer.encode('latin-1')!r})"
    write_script(tmp_path / "bin" / "study_calibrate", script)
    done = selion("calibrate", SELION_BIN=str(tmp_path / "bin"))
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch("selion calibrate: The measuring program 'study_calibrate' answers '.*'; "
                        "legal is a JSON object.\n", done.stderr)


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        (
            "mpirun has detected an attempt to run as root.",
            "mpirun of Open MPI starts nothing for root; run this as another user, or set "
            "OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1.",
        ),
        (
            "There are not enough slots available in the system to satisfy the 2",
            "mpirun of Open MPI starts as many ranks here as there are cores; say how many, as in "
            "--hosts localhost:4.",
        ),
    ],
)
def test_a_page_of_the_launcher_becomes_a_sentence(selion, tmp_path, page, sentence):
    script = f"""
        import sys
        if "--version" in sys.argv:
            print("mpirun (Open MPI) 4.1.4")
        else:
            sys.exit("-----\\n" + {page!r} + "\\n\\nMore words.\\n-----")
    """
    write_script(tmp_path / "bin" / "mpirun", script)
    write_script(tmp_path / "bin" / "study_tune", "")
    found = str(tmp_path / "bin")
    done = selion("calibrate", "-m", "fabric", PATH=found, SELION_BIN=found)
    assert (done.returncode, done.stderr) == (1, f"selion calibrate: {sentence}\n")


# --- this host ------------------------------------------------------------------------------------


def _folder() -> Path:
    """Of the measuring program, with another one of the same build to run on what was measured."""
    try:
        found = places.study_program("study_calibrate").parent
    except Failure as failure:
        pytest.skip(str(failure))
    for name in ("study_calibrate", "study_host"):
        if not os.access(found / name, os.X_OK):
            pytest.skip(f"{found} lacks {name}")
    return found


def test_this_host_as_a_machine(selion, tmp_path):
    programs = _folder()
    done = selion("calibrate", "--quick", SELION_BIN=str(programs))
    assert done.returncode == 0, done.stderr
    params = '{"op":"barrier","bytes":0}'
    ran = subprocess.run(
        [programs / "study_host", "--experiment", "latency", "--params", params],
        env=clean_environment(SELION_MACHINE="sim:./this-host.toml"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    row = json.loads(ran.stdout)
    assert row["ranks"] == native.usable_cores()
    assert row["value"] > 0 or row["ranks"] == 1


# --- a network ------------------------------------------------------------------------------------


def _network_figures(**medians: float) -> dict[str, dict[str, float]]:
    return {name: {"median": median, "p5": median - 1, "p95": median + 1, "n": 101}
            for name, median in medians.items()}


_medians = {"put": 500, "block_put": 4996, "get": 2500, "atomic": 2600, "barrier": 1700,
            "put_signal": 1800, "call": 3800, "block": 4000, "long_block": 262144}


def test_a_network_is_a_crossbar_of_what_was_measured():
    found = _network_figures(**_medians)
    text = network_calibration.machine_file(_found(), found, "on a,b", quick=False)
    table = tomllib.loads(text)
    assert table["machine"]["ranks"]["value"] == 2
    assert table["network"]["kind"] == "crossbar"
    assert table["network"]["latency_ns"]["value"] == 1000
    assert table["network"]["port_ns_per_byte"]["value"] == 1
    short, long = table["operations"].pop("put")
    assert (short["up_to_bytes"]["value"], short["origin_ns"]["value"]) == (64, 500)
    assert (long.keys(), long["origin_ns"]["value"]) == ({"origin_ns"}, 898)
    origins = {name: each["origin_ns"]["value"] for name, each in table["operations"].items()}
    assert origins == {"get": 500, "signal": 700, "put_signal": 800, "active_message": 900,
                       "atomic": 600}
    assert table["operations"]["active_message"]["reply_ns"]["value"] == 900
    assert "median 2500 ns (5 % 2499, 95 % 2501)" in table["network"]["latency_ns"]["source"]
    assert "on a,b" in table["machine"]["summary"]


@pytest.mark.parametrize(("changes", "names", "sentence"), [
    ({"get": 400}, ("put", "get"), "A get of 8 bytes took 400 ns and a put 500 ns, which leaves "),
    ({"long_block": 4000}, ("block", "long_block"), "A get of 262144 bytes took 4000 ns and one "),
    ({"barrier": 1000}, ("put", "get", "barrier"), "A barrier took 1000 ns, a get of 8 bytes "),
])
def test_an_operation_that_leaves_no_cost_is_named(changes, names, sentence):
    assert network_calibration.contradiction(_network_figures(**_medians)) is None
    doubt = network_calibration.contradiction(_network_figures(**{**_medians, **changes}))
    assert doubt.names == names
    assert doubt.sentence.startswith(sentence)


_ns = {"put 8": 500, "get 8": 2500, "fetch_add 8": 2600, "barrier 0": 1700, "put_signal 8": 1800,
       "rpc 8": 3800, "put 4096": 4996, "get 4096": 4000, "get 262144": 262144}


@pytest.fixture
def network(tmp_path: Path) -> dict[str, str]:
    """A launcher and programs that measure two ranks. FAKE_MACHINE: how tables call it.
    FAKE_TIMES: what a call takes in each job, the last one also later."""
    write_script(tmp_path / "bin" / "mpirun", """
        import os, sys
        if "--version" in sys.argv:
            sys.exit("mpirun (Open MPI) 4.1.4")
        start = next(at for at, word in enumerate(sys.argv) if "/study_" in word)
        os.execv(sys.argv[start], sys.argv[start:])
    """)
    write_script(tmp_path / "bin" / "study_tune", """
        import json, os
        print(json.dumps({"machine": os.environ["FAKE_MACHINE"], "members": 2}))
    """)
    write_script(tmp_path / "bin" / "study_host", f"""
        import json, os, sys
        ns = {_ns}
        given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
        params = json.loads(given["--params"])
        name = params["op"] + " " + str(params["bytes"])
        open("host-log", "a").write(name + "\\n")
        jobs = open("host-log").read().splitlines().count(name)
        times = json.loads(os.environ.get("FAKE_TIMES", "{{}}")).get(name, [ns[name]])
        ns[name] = times[min(jobs, len(times)) - 1]
        for repetition in range(int(given["--repetitions"])):
            value = ns[name] + repetition
            row = dict(value=value, p5=value - 1, p95=value + 1, n=101)
            print(json.dumps(row))
    """)
    script = f"import sys; print({json.dumps(json.dumps(_found()))})"
    write_script(tmp_path / "bin" / "study_calibrate", script)
    return {"SELION_BIN": str(tmp_path / "bin"), "PATH": str(tmp_path / "bin"),
            "FAKE_MACHINE": "fabric/net/2x1"}


@pytest.mark.parametrize(("options", "count"), [((), 1010), (("--quick",), 101)])
def test_a_quick_look_at_a_network_has_a_tenth_of_the_measurements(selion, network, tmp_path,
                                                                   options, count):
    done = selion("calibrate", "-m", "fabric", *options, **network)
    assert (done.returncode, done.stderr) == (0, "")
    table = tomllib.loads((tmp_path / "this-network.toml").read_text())
    source = table["operations"]["put"][0]["origin_ns"]["source"]
    assert source.startswith(f"fitted on {count} measurements of two ranks")
    assert table["network"]["latency_ns"]["value"] == 1000


def test_ranks_that_share_memory_are_no_network(selion, network, tmp_path):
    done = selion("calibrate", "-m", "fabric", **{**network, "FAKE_MACHINE": "fabric/net/1x2"})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "selion calibrate: The two ranks are on one host and share its memory, so no network "
        "would be measured; name two hosts, as --hosts a,b.\n")
    assert not (tmp_path / "this-network.toml").exists()


def test_figures_that_contradict_each_other_are_measured_again(selion, network, tmp_path):
    times = '{"put 8": [9000, 500], "get 8": [3500]}'
    done = selion("calibrate", "-m", "fabric", "--quick", FAKE_TIMES=times, **network)
    assert (done.returncode, done.stderr) == (0, "")
    table = tomllib.loads((tmp_path / "this-network.toml").read_text())
    assert table["network"]["latency_ns"]["value"] == 1500
    # A fetch_add of 2600 ns is less than both ways.
    atomic = table["operations"]["atomic"]["origin_ns"]
    assert atomic["value"] == 0
    assert "that is -400 ns, and no cost is less than 0" in atomic["source"]
    lines = (tmp_path / "host-log").read_text().splitlines()
    assert [lines.count(f"{op} 8") for op in ("put", "get", "fetch_add")] == [2, 2, 1]


def test_of_disturbed_figures_the_least_are_kept(selion, network, tmp_path):
    times = '{"get 4096": [300000, 280000, 4000, 290000], "get 262144": [270000, 262144, 400000]}'
    done = selion("calibrate", "-m", "fabric", "--quick", FAKE_TIMES=times, **network)
    assert (done.returncode, done.stderr) == (0, "")
    table = tomllib.loads((tmp_path / "this-network.toml").read_text())
    assert table["network"]["port_ns_per_byte"]["value"] == 1


def test_no_file_is_written_of_figures_that_contradict_each_other(selion, network, tmp_path):
    done = selion("calibrate", "-m", "fabric", "--quick", FAKE_TIMES='{"get 8": [400]}',
                  **network)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "selion calibrate: A get of 8 bytes took 400 ns and a put 500 ns, which leaves nothing for "
        "the way; calibrate again while nothing else runs.\n")
    assert not (tmp_path / "this-network.toml").exists()


@pytest.mark.parametrize("arguments, sentence", [
    (("-m", "threads"), "'threads' is not calibrated; legal is fabric"),
    (("-m", "fabric:3"), "'fabric:3' has 3 ranks, but two are measured: fabric:2"),
    (("-m", "fabric:x2"), "'fabric:x2' puts ranks into one process, but the network between two"),
    (("-m", "fabric,nosuch=1"), "'fabric,nosuch=1' has options; networks are calibrated without"),
    (("--hosts", "localhost"), "--hosts is for the machine fabric: add -m fabric"),
])
def test_other_machines_are_not_calibrated(selion, arguments: tuple[str, ...], sentence: str):
    done = selion("calibrate", *arguments)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())
