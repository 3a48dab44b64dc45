"""A plugin that was found, and whose source was read without running it."""

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
    """How a plugin was found."""

    PLUGIN_DIR = "plugin-dir"
    ENTRY_POINT = "entry-point"
    BUILT_IN = "built-in"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A plugin that was found, with what its source says.

    It keeps the bytes that were read, and these are run when it is loaded: the file cannot be exchanged in between.
    """

    #: The plugin type in the name of the file or entry point.
    plugin_type: str
    source: Source
    #: Position in the search order, 0 first.
    order: int
    #: The file; ``None`` if an entry point does not lead to one.
    path: Path | None
    #: The entry point as declared; empty for a file.
    declared: str = ""
    #: Name of an entry point's module; empty for a file.
    module: str = ""
    #: Name of the object in that module; empty: the module itself.
    attr: str = ""
    #: The identity symbols; ``None`` if they are missing or wrong, which is then among the problems.
    identity: Identity | None = None
    #: Why it cannot be used, as far as that is known without running it; empty: it can.
    problems: tuple[str, ...] = ()
    #: First line of the docstring.
    summary: str = ""
    #: Names that the file binds at its top level, or in the plugin's class.
    defines: frozenset[str] = frozenset()
    #: The bytes that were read.
    code: bytes = field(default=b"", repr=False, compare=False)

    @property
    def where(self) -> str:
        """Where the plugin is: the path of the file, or the entry point."""
        return self.declared or str(self.path)

    @property
    def file(self) -> str:
        """Path of the plugin's file, if known."""
        return str(self.path) if self.path is not None else self.declared


class PluginRefusedError(PluginError):
    """A plugin was refused, for one or more problems."""

    #: The problems, a sentence each; never empty.
    problems: tuple[str, ...]

    def __init__(self, candidate: Candidate, problems: Sequence[str], errno: Errno | None = None) -> None:
        super().__init__(f"plugin {candidate.plugin_type} ({candidate.where}): {'; '.join(problems)}", errno)
        self.problems = tuple(problems)
