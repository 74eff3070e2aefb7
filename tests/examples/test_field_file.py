# SPDX-License-Identifier: Apache-2.0
"""em3d --field: the mesh and the last values on it, the same from every machine."""

from __future__ import annotations

import json

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
        assert done.returncode == 2
        assert done.stderr == "em3d: absent/field.json: cannot be opened for writing\n"
