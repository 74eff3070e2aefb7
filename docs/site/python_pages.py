# SPDX-License-Identifier: Apache-2.0
"""Pages of the Python API, made of signatures and docstrings as they stand in the package's files.
Nothing is imported, so neither NumPy nor the compiled module is needed."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from pathlib import Path


# And what is shown of each; nothing: all that is public.
_modules: dict[str, tuple[str, ...]] = {
    "selion": (),
    "selion.layout": (),
    "selion.calls": ("Future",),
    "selion.transfers": ("Transfer",),
    "selion.split_phase": (),
    "selion.explanation": (),
    "selion.schedules": (),
    "selion.offload": (),
}
_shown_specials = {"__enter__"}
_definition = ast.FunctionDef | ast.ClassDef


def plain_docstring(text: str) -> str:
    """Docstrings have `code`, indented examples and @param, @return, @error; reStructuredText has
    other signs for them."""
    lines = re.sub(r"(?<![`:])`([^`\n]+)`(?!`)", r"``\1``", text).splitlines()
    out: list[str] = []
    is_example = False
    for line in lines:
        indented = line.startswith("    ") and (not out or not out[-1].startswith(":"))
        if indented and not is_example and (not out or out[-1] == ""):
            out += [".. code-block:: python", ""]
            is_example = True
        elif line and not indented:
            is_example = False
        out.append(line)
    text = "\n".join(out)
    text = re.sub(r"\s*@param (\w+) ", r"\n:param \1: ", text)
    text = re.sub(r"\s*@error ", "\n:raises: ", text)
    text = re.sub(r"\s*@return ", "\n:returns: ", text)
    # A list of fields begins behind a blank line, and what belongs to one is indented.
    text = re.sub(r"(?<!\n)\n(:(?:param|raises|returns))", r"\n\n\1", text, count=1)
    return indent_fields(text)


def indent_fields(text: str) -> str:
    out, in_field = [], False
    for line in text.splitlines():
        if re.match(r":(param|raises|returns)\b", line):
            in_field = True
        elif not line:
            in_field = False
        elif in_field and not line.startswith(" "):
            line = "   " + line
        out.append(line)
    return "\n".join(out)


def indented(text: str, depth: int) -> str:
    return textwrap.indent(text, "   " * depth)


class Writer:
    """Writes the definitions of one file."""

    def __init__(self, tree: ast.Module) -> None:
        self._private = private_types(tree)

    def annotation(self, node: ast.expr) -> str:
        """With what private names stand for."""
        text = re.sub(r"\*?\b_\w+\.k?w?args\b", "Any", ast.unparse(node))
        for _ in range(5):  # names that stand for names
            text = re.sub(r"\b_\w+", lambda found: self._private.get(found[0], found[0]), text)
        return text

    def signature(self, function: ast.FunctionDef, is_method: bool) -> str:
        arguments = function.args
        if is_method:
            first = arguments.posonlyargs or arguments.args
            del first[:1]
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs,
                         *filter(None, (arguments.vararg, arguments.kwarg))]:
            if argument.annotation:
                argument.annotation = ast.Name(self.annotation(argument.annotation))
        returned = f" -> {self.annotation(function.returns)}" if function.returns else ""
        return f"({ast.unparse(arguments)}){returned}"

    def function(self, functions: list[ast.FunctionDef], depth: int, is_method: bool) -> str:
        """One function, or all overloads of one name."""
        last = functions[-1]
        docs = next((text for each in functions if (text := ast.get_docstring(each))), "")
        if has_decorator(last, "property"):
            head = f".. py:property:: {last.name}"
            if last.returns:
                head += f"\n   :type: {self.annotation(last.returns)}"
        else:
            first = f".. py:{'method' if is_method else 'function'}:: "
            lines = [f"{last.name}{self.signature(each, is_method)}" for each in functions]
            head = first + ("\n" + " " * len(first)).join(lines)
        return indented(f"{head}\n\n{indented(plain_docstring(docs), 1)}\n", depth)

    def fields(self, node: ast.ClassDef) -> str:
        """Annotated fields of a dataclass, each with the string behind it."""
        out = ""
        for each, after in zip(node.body, [*node.body[1:], None], strict=True):
            if not isinstance(each, ast.AnnAssign) or each.target.id.startswith("_"):
                continue
            told = ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                told = plain_docstring(inspect.cleandoc(str(after.value.value)))
            out += f".. py:attribute:: {each.target.id}\n"
            out += f"   :type: {self.annotation(each.annotation)}\n"
            if each.value is not None:
                out += f"   :value: {ast.unparse(each.value)}\n"
            out += f"\n{indented(told, 1)}\n\n"
        return out

    def a_class(self, node: ast.ClassDef) -> str:
        out = f".. py:class:: {node.name}{self._making(node)}\n\n"
        bases = [name for name in map(ast.unparse, node.bases) if not name.startswith("Generic")]
        if bases:
            out += f"   Bases: {', '.join(f'``{base}``' for base in bases)}\n\n"
        out += indented(plain_docstring(ast.get_docstring(node) or ""), 1) + "\n\n"
        out += indented(self.fields(node), 1)
        for group in members_of(node.body):
            out += self.function(group, 1, True) + "\n"
        return out

    def _making(self, node: ast.ClassDef) -> str:
        """Arguments of a class whose docstring tells of them: programs make such objects."""
        made = next((each for each in node.body
                     if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
        says = re.search(r"(:param|@param) ", ast.get_docstring(node) or "")
        return self.signature(made, True).split(" -> ")[0] if made is not None and says else ""

    def any(self, group: list[_definition]) -> str:
        if isinstance(group[0], ast.ClassDef):
            return self.a_class(group[0])
        return self.function(group, 0, False)


def private_types(tree: ast.Module) -> dict[str, str]:
    """What private names of types stand for; type variables for their bound, or anything."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            found |= {each.asname: each.name for each in node.names if each.asname}
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        name, value = node.targets[0].id, node.value
        if not name.startswith("_"):
            continue
        if isinstance(value, ast.Call):
            bound = [each.value for each in value.keywords if each.arg == "bound"]
            found[name] = ast.unparse(bound[0]) if bound else "Any"
        elif isinstance(value, ast.Subscript | ast.BinOp | ast.Name | ast.Attribute):
            found[name] = ast.unparse(value)
    return found


def has_decorator(function: ast.FunctionDef, name: str) -> bool:
    return any(ast.unparse(each) == name for each in function.decorator_list)


def members_of(body: list[ast.stmt]) -> list[list[ast.FunctionDef]]:
    groups: dict[str, list[ast.FunctionDef]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef) and (
            not node.name.startswith("_") or node.name in _shown_specials
        ):
            groups.setdefault(node.name, []).append(node)
    return list(groups.values())


def definitions(tree: ast.Module, names: tuple[str, ...]) -> list[list[_definition]]:
    """By name, with the classes that their annotations name; all public ones of a file if no name
    is given."""
    groups: dict[str, list[_definition]] = {}
    for node in tree.body:
        if isinstance(node, _definition) and not node.name.startswith("_"):
            groups.setdefault(node.name, []).append(node)
    wanted = [name for name in names or groups if name in groups]
    for name in wanted:  # grows
        used = {each.id for node in groups[name] for each in ast.walk(node)
                if isinstance(each, ast.Name)}
        wanted += [other for other in groups if other in used and other not in wanted
                   and isinstance(groups[other][0], ast.ClassDef)]
    return [groups[name] for name in wanted]


def offered_by(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """What a package imports and names in __all__, by module."""
    names = next(ast.literal_eval(node.value) for node in tree.body
                 if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    found = {node.module: tuple(each.name for each in node.names if each.name in names)
             for node in imports if node.module and node.module.startswith("selion.")}
    return {module: offered for module, offered in found.items() if offered}


def file_of(folder: Path, module: str) -> Path:
    path = folder.joinpath(*module.split(".")[1:])
    stub = path.with_suffix(".pyi")
    return next(each for each in (path / "__init__.py", stub, path.with_suffix(".py"))
                if each.is_file())


def module_page(folder: Path, module: str, shown: tuple[str, ...]) -> str:
    file = file_of(folder, module)
    tree = ast.parse(file.read_text(encoding="utf-8"))
    parts = offered_by(tree) if file.name == "__init__.py" else {module: shown}
    out = f"{module}\n{'=' * len(module)}\n\n.. py:module:: {module}\n\n"
    out += plain_docstring(ast.get_docstring(tree) or "") + "\n\n"
    for part, names in parts.items():
        own = ast.parse(file_of(folder, part).read_text(encoding="utf-8"))
        writer = Writer(own)
        out += "\n".join(writer.any(group) for group in definitions(own, names)) + "\n"
    return out


def make(folder: Path) -> dict[str, str]:
    """Names and texts of the pages of the package in `folder`."""
    return {f"api/python/{module}.rst": module_page(folder, module, shown)
            for module, shown in _modules.items()}
