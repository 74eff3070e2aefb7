# SPDX-License-Identifier: Apache-2.0
"""How Sphinx makes the site. `scripts/build-docs` runs it over build/docs/source, which
docs/site/stage.py lays out: the project's own folders, and pages of the C++ and Python API."""

import re
import sys
from pathlib import Path

_here = Path(__file__).resolve().parent
_root = _here.parents[1]
sys.path.insert(0, str(_here))

project = "Selion"
copyright = "the authors of Selion; Apache-2.0"  # noqa: A001 - Sphinx's name
version = release = re.search(
    r"^project\(selion VERSION ([0-9.]+)", (_root / "CMakeLists.txt").read_text("utf-8"), re.M
)[1]

extensions = ["myst_parser", "breathe", "source_pages", "contents"]
root_doc = "docs/index"
include_patterns = [
    "docs/**.md", "README.md", "src/**.md", "studies/**.md", "examples/**.md", "api/**.rst",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_heading_anchors = 4
myst_url_schemes = ["http", "https"]

breathe_projects = {"selion": str(_root / "build/docs/doxygen")}
breathe_default_project = "selion"
breathe_domain_by_extension = {"hpp": "cpp"}
breathe_show_include = False
cpp_index_common_prefix = ["selion::"]

# Every page opens namespace selion.
suppress_warnings = ["duplicate_declaration.cpp"]
nitpicky = True
nitpick_ignore_regex = [
    # The standard library, template parameters and what is kept in namespace detail.
    (r"cpp:.*", r".*"),
    # Types in signatures; what stands for them privately has been written out.
    (r"py:class", r".*"),
]

html_theme = "furo"
html_title = f"Selion {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "default"
pygments_dark_style = "monokai"
