# SPDX-License-Identifier: Apache-2.0
"""The stubs name exactly what the compiled module has, and every name is documented."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import clean_environment, needs_module, package_parent, seconds
from selion import native

pytestmark = needs_module

_stub = ast.parse((package_parent / "selion" / "_core.pyi").read_text(encoding="utf-8"))
_dunders = {"__init__", "__enter__", "__exit__"}


def declared(body: list[ast.stmt]) -> set[str]:
    return {
        node.name
        for node in body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef))
        and (not node.name.startswith("_") or node.name in _dunders)
    }


def constants() -> set[str]:
    return {node.target.id for node in _stub.body if isinstance(node, ast.AnnAssign)}


def present(members: dict[str, object]) -> set[str]:
    return {name for name in members if not name.startswith("_") or name in _dunders}


def classes() -> list[ast.ClassDef]:
    return [node for node in _stub.body if isinstance(node, ast.ClassDef)]


def test_names_of_the_module():
    assert declared(_stub.body) | constants() == present(vars(native.load()))


@pytest.mark.parametrize("node", classes(), ids=lambda node: node.name)
def test_names_of_a_class(node):
    members = present(vars(getattr(native.load(), node.name)))
    made_by_users = node.name in ("GlobalArray", "ProcessPool", "Signal")
    assert declared(node.body) == (members if made_by_users else members - {"__init__"})


@pytest.mark.parametrize("node", classes(), ids=lambda node: node.name)
def test_arguments(node):
    """The names of arguments, as the module's own signatures give them."""
    for method in node.body:
        if not isinstance(method, ast.FunctionDef) or method.name.startswith("_"):
            continue
        if "property" in (getattr(each, "id", "") for each in method.decorator_list):
            continue
        signature = getattr(getattr(native.load(), node.name), method.name).__doc__.split("\n")[0]
        for argument in (*method.args.args, *method.args.kwonlyargs):
            if argument.arg != "self":
                assert f"{argument.arg}:" in signature, (method.name, signature)


def test_everything_is_documented():
    documented = set()
    names = set()
    for owner, body in [("", _stub.body), *((node.name, node.body) for node in classes())]:
        for node in body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("__"):
                names.add((owner, node.name))
                if ast.get_docstring(node):
                    documented.add((owner, node.name))
    assert names - documented == set()


@pytest.mark.parametrize("node", classes(), ids=lambda node: node.name)
def test_help_tells_what_the_stub_does(node):
    compiled = getattr(native.load(), node.name)
    assert compiled.__doc__ == ast.get_docstring(node)
    for member in node.body:
        text = ast.get_docstring(member) if isinstance(member, ast.FunctionDef) else None
        if text:
            assert getattr(compiled, member.name).__doc__.endswith(text), member.name


# --- the package ----------------------------------------------------------------------------------


def test_names_of_the_package():
    """What `selion` offers is what it lists, and all of it is there."""
    import selion

    source = ast.parse((package_parent / "selion" / "__init__.py").read_text(encoding="utf-8"))
    imported = {
        alias.asname or alias.name
        for node in ast.walk(source)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("selion.")
        for alias in node.names
        if node.module != "selion.version"
    }
    assert imported - {"native"} == set(selion.__all__)
    assert all(hasattr(selion, name) for name in selion.__all__)
    assert selion.__all__ == sorted(selion.__all__)
    with pytest.raises(AttributeError, match="module 'selion' has no attribute 'nothing'"):
        selion.nothing  # noqa: B018


_program = Path(__file__).parent / "typed_program.py"


def test_a_type_checker_accepts_the_stubs(tmp_path):
    pytest.importorskip("mypy")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent",
         "--cache-dir", str(tmp_path), str(_program)],
        env=clean_environment(MYPYPATH=str(package_parent)),
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "Success: no issues found in 1 source file" in checked.stdout


@pytest.mark.parametrize("machine", ["processes:1", "processes:2", "sim:crossbar,ranks=2"])
def test_the_program_of_the_type_checker_runs(machine):
    done = subprocess.run(
        [sys.executable, str(_program)],
        env=clean_environment(SELION_MACHINE=machine),
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == (
        "['by value 0 on processes:2', 'by value 1 on processes:2']"
    )


def test_types_of_the_whole_package(tmp_path):
    pytest.importorskip("mypy")
    line = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path), "python/selion"]
    done = subprocess.run(line, cwd=package_parent.parent, env=clean_environment(),
                          capture_output=True, text=True, timeout=3 * seconds)  # fmt: skip
    assert done.returncode == 0, done.stdout
