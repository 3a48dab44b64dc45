"""Plugins of installed packages: entry points of the group ``rota.plugins``.

``importlib.metadata`` is slow to import and reads every installed distribution. So the import path is first searched
for files with the group's name, and ``importlib.metadata`` is used only if there are any. The result is cached for the
process and its ``sys.path``: a package that is installed later is found by the next process.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from importlib.metadata import EntryPoint

GROUP = "rota.plugins"
METADATA_SUFFIXES = (".dist-info", ".egg-info", "egg-info")


@dataclass(frozen=True, slots=True, order=True)
class PluginEntryPoint:
    """An entry point."""

    #: Name of the distribution that declares it; empty if there is none.
    distribution: str
    name: str
    value: str

    @property
    def module(self) -> str:
        """Name of the module to which it leads."""
        return self._parts()[0]

    @property
    def attr(self) -> str:
        """Name of the object in that module; empty for the module itself."""
        return self._parts()[1]

    def _parts(self) -> tuple[str, str]:
        module, _, attr = self.value.partition("[")[0].partition(":")  # "[extra]" has no meaning any more
        return module.strip(), attr.strip()

    def __str__(self) -> str:
        by = f" of {self.distribution}" if self.distribution else ""
        return f'entry point "{self.name}"{by}: {self.value}'


def plugin_entry_points() -> tuple[PluginEntryPoint, ...]:
    """List the entry points of the group, sorted by distribution."""
    return _entry_points(tuple(sys.path))


def locate(module: str) -> tuple[Path, bool]:
    """Find the source of a module without importing it or its parents.

    Args:
        module: Name with dots.

    Returns:
        Path of the file, and whether it is a package.

    Raises:
        LookupError: there is no such module, or it is not a Python source file.
    """
    if not all(part.isidentifier() for part in module.split(".")):
        raise LookupError(f"{module!r} is not a module's name")
    spec: ModuleSpec | None = None
    done: list[str] = []
    for part in module.split("."):
        # Below the top level the last part of the name suffices. Given its full name, a namespace package would import
        # its parent.
        spec = PathFinder.find_spec(part, list(spec.submodule_search_locations or ())) if spec else _top_level(part)
        done.append(part)
        if spec is None:
            raise LookupError(f"there is no module {'.'.join(done)}")
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        raise LookupError(f"module {module} has no Python source file that could be looked at")
    return Path(spec.origin), spec.submodule_search_locations is not None


def _top_level(name: str) -> ModuleSpec | None:
    """Ask every finder, since those of editable installations know packages that are not on the path."""
    for finder in sys.meta_path:
        try:
            spec = finder.find_spec(name, None)
        except Exception as exc:
            raise LookupError(f"looking for module {name} failed: {type(exc).__name__}: {exc}") from exc
        if spec is not None:
            return spec
    return None


@cache
def _entry_points(path: tuple[str, ...]) -> tuple[PluginEntryPoint, ...]:
    if not _may_declare(path):
        return ()
    from importlib.metadata import entry_points

    return tuple(
        sorted(PluginEntryPoint(_distribution(entry), entry.name, entry.value) for entry in entry_points(group=GROUP))
    )


def _distribution(entry: EntryPoint) -> str:
    try:
        name = entry.dist.metadata["Name"] if entry.dist else ""
    except Exception:  # noqa: BLE001  (newer Pythons raise their own error for a distribution without metadata)
        name = ""
    return re.sub(r"[-_.]+", "-", name or "").lower()


def _may_declare(path: tuple[str, ...]) -> bool:
    """Whether the group may be entry_points somewhere; true if only ``importlib.metadata`` can tell."""
    if any(finder is not PathFinder and hasattr(finder, "find_distributions") for finder in sys.meta_path):
        return True
    return any(_directory_may_declare(directory) for directory in path)


def _directory_may_declare(directory: str) -> bool:
    try:
        with os.scandir(directory or ".") as entries:
            names = [entry.name for entry in entries if entry.name.lower().endswith(METADATA_SUFFIXES)]
    except NotADirectoryError:  # a zip archive
        return True
    except OSError:
        return False
    return any(_mentions_group(os.path.join(directory, name, "entry_points.txt")) for name in names)  # noqa: PTH118


def _mentions_group(file: str) -> bool:
    try:
        with open(file, "rb") as text:  # noqa: PTH123  (a path object for every installed package adds up)
            return GROUP.encode() in text.read()
    except OSError:
        return False
