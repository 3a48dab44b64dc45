"""Sphinx configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "rota"
author = "rota contributors"
project_copyright = author
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
# Single backquotes in docstrings name a Python object.
default_role = "py:obj"
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# The interfaces are written to be read from top to bottom.
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": True}
# Names without their modules: plugins import all of them from one place.
add_module_names = False
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "rota"
html_static_path = ["_static"]


def _keep_colons(_app: Sphinx, what: str, _name: str, _obj: object, _options: object, lines: list[str]) -> None:
    """Keep napoleon from taking words before a colon for a type: types are in the annotations.

    It looks at the first line, there an empty comment, of an attribute and of a section on what is returned.
    """
    lines[:] = [line for line in lines if not line.startswith("Over 400 lines: ")]  # for readers of the source
    if what in {"attribute", "data", "property"}:
        lines[:0] = ["..", ""]
    elif "Returns:" in lines:
        place = lines.index("Returns:") + 1
        lines[place:place] = ["    ..", ""]


def _no_protocol_signature(_app: Sphinx, what: str, _name: str, obj: Any, *_: object) -> tuple[str, None] | None:
    """Leave out the signature of a protocol: nobody makes one."""
    return ("", None) if what == "class" and getattr(obj, "_is_protocol", False) else None


def setup(app: Sphinx) -> None:
    """Put our hooks before napoleon's."""
    app.connect("autodoc-process-docstring", _keep_colons, priority=400)
    app.connect("autodoc-process-signature", _no_protocol_signature)
