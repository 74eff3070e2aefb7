# SPDX-License-Identifier: Apache-2.0
"""The stubs name exactly what the compiled module has, and every name is documented."""

from __future__ import annotations

import ast

import pytest

from conftest import needs_module, package_parent
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


def present(members: dict[str, object]) -> set[str]:
    return {name for name in members if not name.startswith("_") or name in _dunders}


def classes() -> list[ast.ClassDef]:
    return [node for node in _stub.body if isinstance(node, ast.ClassDef)]


def test_names_of_the_module():
    assert declared(_stub.body) | {"compiler"} == present(vars(native.load()))


@pytest.mark.parametrize("node", classes(), ids=lambda node: node.name)
def test_names_of_a_class(node):
    members = present(vars(getattr(native.load(), node.name)))
    made_by_users = node.name in ("GlobalArray", "ProcessPool")
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
