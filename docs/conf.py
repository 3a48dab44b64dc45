"""Sphinx configuration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rota import __version__
from rota.config.keys import KNOWN_KEYS
from rota.config.options import HEEDED, IGNORED

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "rota"
author = "rota contributors"
project_copyright = author
release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
# Single backquotes in docstrings name a Python object.
default_role = "py:obj"
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# The cells of the notebook are executed with each build; one that fails ends it.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120

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


def _option_tables(_app: Sphinx, _name: str, source: list[str]) -> None:
    """Put in the tables of options: ``<options: KEY>``, ``<options: KEY PLUGIN>`` or ``<ignored>``."""
    source[0] = re.sub(r"^<options: (\w+)(?: (\S+))?>$", _options, source[0], flags=re.MULTILINE)
    source[0] = re.sub(r"^<ignored>$", _ignored, source[0], flags=re.MULTILINE)


def _options(match: re.Match[str]) -> str:
    key, plugin = match[1].lower(), match[2]
    chosen = [one for one in HEEDED[key] if not one.plugins or plugin is None or plugin in one.plugins]
    if key == "schedulerparameters":
        chosen = [one for one in chosen if bool(one.plugins) is (plugin is not None)]
    return "\n".join(
        ["| option | Slurm's default | meaning |", "|---|---|---|"]
        + [f"| `{one.name}` | {one.default} | {one.meaning} |" for one in chosen]
    )


def _ignored(_match: re.Match[str]) -> str:
    rows = [(key, name, text) for key, names in IGNORED.items() for name, text in names.items() if text]
    lines = [f"| `{KNOWN_KEYS[key]}` | `{name}` | {text} |" for key, name, text in rows]
    return "\n".join(["| key | option | consequence |", "|---|---|---|", *lines])


def setup(app: Sphinx) -> None:
    """Put our hooks before napoleon's."""
    app.connect("source-read", _option_tables)
    app.connect("autodoc-process-docstring", _keep_colons, priority=400)
    app.connect("autodoc-process-signature", _no_protocol_signature)
