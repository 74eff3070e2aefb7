# SPDX-License-Identifier: Apache-2.0
"""Links of pages to files and folders of the project lead to a copy of them on the site.

A file gets a page with its text, a folder one with the files in it; a public header its page of
the API. Pages that nobody links to are not made."""

from __future__ import annotations

import html
import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes

_root = Path(__file__).resolve().parents[2]
_skipped = {"__pycache__"}


def page_of(path: str) -> str:
    """The page of a file or folder of the project."""
    return f"source/{path}/index" if (_root / path).is_dir() else f"source/{path}"


def files_below(folder: str) -> list[str]:
    return sorted(
        str(path.relative_to(_root))
        for path in (_root / folder).rglob("*")
        if path.is_file() and not _skipped & set(path.parts)
    )


def linked_path(page: str, node: nodes.Element) -> str | None:
    """What of the project a link leads to; None where that is a page, or nothing."""
    if node.get("refdomain"):
        return None
    target = node["reftarget"].split("#")[0]
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
    return path if target and (_root / path).exists() else None


def lead_to_copies(app: Any, tree: nodes.document) -> None:
    page = app.env.docname
    found = app.env.linked_sources.setdefault(page, set())
    for kind in (addnodes.download_reference, addnodes.pending_xref):
        for node in list(tree.findall(kind)):
            path = linked_path(page, node)
            if path is None:
                continue
            name = api_page(app, path)
            if name is None:
                name = page_of(path)
                found.add(path)
            place = app.builder.get_relative_uri(page, name)
            node.replace_self(nodes.reference("", "", *node.children, internal=True, refuri=place))


def open_namespaces(app: Any, tree: nodes.document) -> None:
    """What a page of the API shows stands at its top, and not within namespace selion."""
    for node in list(tree.findall(addnodes.desc)):
        if node.get("objtype") == "type" and node[0].astext() == "namespace selion":
            at = node.parent.index(node)
            node.parent[at:at + 1] = [nodes.target("", "", ids=node[0]["ids"]), *node[1].children]


def api_page(app: Any, path: str) -> str | None:
    name = f"api/cpp/{Path(path).stem}"
    is_header = path.startswith("include/selion/") and path.count("/") == 2
    return name if is_header and name in app.env.found_docs else None


def text_of(path: str) -> str:
    try:
        text = (_root / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return "<p>A binary file.</p>"
    try:
        lexer = get_lexer_for_filename(path)
    except ClassNotFound:
        lexer = TextLexer()
    return f'<div class="highlight">{highlight(text, lexer, HtmlFormatter(nowrap=False))}</div>'


def listing_of(app: Any, folder: str) -> str:
    here = page_of(folder)
    lines = []
    for path in files_below(folder):
        name = path[:-3] if path.endswith(".md") else page_of(path)
        link = app.builder.get_relative_uri(here, name)
        lines.append(f'<li><a href="{link}">{html.escape(path[len(folder) + 1:])}</a></li>')
    return f"<ul>{''.join(lines)}</ul>"


def make_copies(app: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    wanted = set().union(*app.env.linked_sources.values())
    for folder in [path for path in wanted if (_root / path).is_dir()]:
        wanted |= {path for path in files_below(folder) if not path.endswith(".md")}
    for path in sorted(wanted):
        body = listing_of(app, path) if (_root / path).is_dir() else text_of(path)
        title = html.escape(path)
        yield page_of(path), {"title": title, "body": f"<h1>{title}</h1>{body}"}, "page.html"


def prepare(app: Any) -> None:
    if not hasattr(app.env, "linked_sources"):
        app.env.linked_sources = {}


def forget(app: Any, env: Any, page: str) -> None:
    env.linked_sources.pop(page, None)


def merge(app: Any, env: Any, pages: set[str], other: Any) -> None:
    env.linked_sources |= {page: other.linked_sources.get(page, set()) for page in pages}


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", prepare)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("doctree-read", lead_to_copies)
    app.connect("doctree-read", open_namespaces, priority=400)  # before contents are collected
    app.connect("html-collect-pages", make_copies)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
