# SPDX-License-Identifier: Apache-2.0
"""em3d --field: the mesh and the last values on it, the same from every machine."""

from __future__ import annotations

import json

import pytest
from started import machines, output, root, run

_mesh = root / "examples" / "em3d" / "cube.obj"


def field(folder, machine: str) -> str:
    output("em3d", "--mesh", _mesh, "--iterations", 20, "--verify", "--field", "field.json",
           machine=machine, folder=folder)
    return (folder / "field.json").read_text(encoding="utf-8")


def test_the_file_holds_the_mesh_and_a_value_for_each_face_and_edge(tmp_path):
    told = json.loads(field(tmp_path, "threads:2"))
    assert (told["program"], told["format"], told["iterations"]) == ("em3d", 1, 20)
    assert told["mesh"] == str(_mesh)
    assert len(told["vertices"]) == 8 and [-1, -1, -1] in told["vertices"]
    assert len(told["faces"]) == len(told["magnetic"]) == 6
    assert len(told["edges"]) == len(told["electric"]) == 12
    sides = {tuple(sorted((a, b))) for face in told["faces"]
             for a, b in zip(face, face[1:] + face[:1])}
    assert {tuple(edge) for edge in told["edges"]} == sides


def test_the_file_is_the_same_from_every_machine(tmp_path):
    assert len({field(tmp_path, machine) for machine in machines}) == 1


def test_a_file_that_cannot_be_written_is_told(tmp_path):
    for machine in machines:
        done = run("em3d", "--mesh", _mesh, "--field", "absent/field.json", machine=machine,
                   folder=tmp_path)
        # Nothing on standard output: it is told before the work, not after it.
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "em3d: absent/field.json: cannot be opened for writing\n"


@pytest.mark.parametrize("machine", machines)
def test_the_mesh_is_not_replaced_by_its_field(machine, tmp_path):
    (tmp_path / "cube.obj").write_bytes(_mesh.read_bytes())
    (tmp_path / "link.obj").symlink_to("cube.obj")
    for name in ("cube.obj", "./cube.obj", "link.obj"):
        done = run("em3d", "--mesh", "cube.obj", "--field", name, machine=machine, folder=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"em3d: {name}: is the mesh itself, which the field would replace\n"
    assert (tmp_path / "cube.obj").read_bytes() == _mesh.read_bytes()


def test_an_old_field_is_replaced(tmp_path):
    (tmp_path / "field.json").write_text("x" * 100_000)
    assert json.loads(field(tmp_path, "threads:2"))["format"] == 1


def test_links_stay(tmp_path):
    (tmp_path / "field.json").symlink_to("new.json")  # which is not there yet
    told = field(tmp_path, "processes:2")
    assert (tmp_path / "field.json").is_symlink()
    assert (tmp_path / "new.json").read_text(encoding="utf-8") == told


def test_a_field_can_go_through_a_pipe(tmp_path):
    told = output("em3d", "--mesh", _mesh, "--field", "/dev/stdout", folder=tmp_path)
    assert '{"program": "em3d",\n"format": 1,' in told
