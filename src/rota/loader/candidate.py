"""A plugin that was found and looked at, but not run."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from rota.model import PluginError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rota.loader.identity import Identity
    from rota.model import Errno


class Source(StrEnum):
    """By which way a plugin was found."""

    PLUGIN_DIR = "plugin-dir"
    ENTRY_POINT = "entry-point"
    BUILT_IN = "built-in"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What looking at one plugin has shown.

    It keeps the bytes that were looked at, and those are what loading runs: nobody can exchange the file in between.
    """

    #: The type under which it was found: what the file or the entry point is called.
    plugin_type: str
    source: Source
    #: Position in the search order, 0 first.
    order: int
    #: The file, ``None`` when an entry point leads to none.
    path: Path | None
    #: Who brings it: an entry point as it is declared, empty for a file.
    declared: str = ""
    #: Dotted name of an entry point's module, empty for a file.
    module: str = ""
    #: Name of the object in that module that is the plugin, empty: the module itself.
    attr: str = ""
    #: ``None`` exactly when there are problems that leave the identity unknown.
    identity: Identity | None = None
    #: Why it cannot be used, as far as looking shows; empty when it can.
    problems: tuple[str, ...] = ()
    #: First line of the docstring.
    summary: str = ""
    #: Names that the file itself binds at its top level (or in the plugin's class).
    defines: frozenset[str] = frozenset()
    #: The bytes that were looked at.
    code: bytes = field(default=b"", repr=False, compare=False)

    @property
    def where(self) -> str:
        """Where it is, for people: the file, or the entry point."""
        return self.declared or str(self.path)

    @property
    def file(self) -> str:
        """The file that it is in, as far as known."""
        return str(self.path) if self.path is not None else self.declared


class PluginRefusedError(PluginError):
    """A plugin was refused for one or more problems, all of which it lists."""

    #: What is wrong, one sentence each; never empty.
    problems: tuple[str, ...]

    def __init__(self, candidate: Candidate, problems: Sequence[str], errno: Errno | None = None) -> None:
        super().__init__(f"plugin {candidate.plugin_type} ({candidate.where}): {'; '.join(problems)}", errno)
        self.problems = tuple(problems)
