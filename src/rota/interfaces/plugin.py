"""What all plugins have in common: identity symbols, life cycle, and the table of documented functions.

Source: the Slurm Plugin API (July 2004). A plugin is a *symbol container*, a module or any object, with the
documented names as attributes.

=================== ===========================================================================================
``plugin_type``     ``"major/minor"``; the minor type ``none`` is the null plugin, every function a stub
``plugin_name``     free text for people
``plugin_version``  unsigned 32-bit, API major × 1000 + minor revision
``plugin_legacy``   optional: lowest API version still spoken; only its major counts; default ``plugin_version``
                    rounded down to a thousand
``plugin_release``  optional: the one rota release that it was built for, such as ``"0.1.0"``
``errno``           optional: why the last call failed, one of `Errno`; `SLURM_SUCCESS` at first
``init(ctld)``      optional: called once, right after loading; `SLURM_SUCCESS`, or it is unloaded without ``fini``
``fini()``          optional: called exactly once, before unloading
=================== ===========================================================================================

The identity symbols must be literals at the top level of the file: rota reads them without running it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: Identity symbols that a plugin must have, with their types.
REQUIRED_IDENTITY: dict[str, type] = {"plugin_type": str, "plugin_name": str, "plugin_version": int}
#: Optional identity symbols, with their types.
OPTIONAL_IDENTITY: dict[str, type] = {"plugin_legacy": int, "plugin_release": str}


@dataclass(frozen=True, slots=True)
class Symbol:
    """A documented function of an API."""

    name: str
    #: Names of its positional arguments.
    arguments: tuple[str, ...] = ()
    #: Whether a plugin may do without.
    optional: bool = False
    #: Whether it may be a generator.
    generator: bool = False

    @property
    def arity(self) -> int:
        """Number of its arguments."""
        return len(self.arguments)

    def __str__(self) -> str:
        """Give the signature, such as ``priority_p_set(last_prio, job_ptr)``."""
        return f"{self.name}({', '.join(self.arguments)})"


@dataclass(frozen=True, slots=True)
class PluginApi:
    """The API of one major type: the functions that its plugins provide, and the API majors that rota supports."""

    major: str
    symbols: tuple[Symbol, ...]
    #: Supported API majors; ``plugin_version`` 100 is API major 0.
    api_majors: frozenset[int] = frozenset({0})
    #: Whether ``plugin_version`` may be left out, with a warning, as the 2019 scheduler document allows.
    version_optional: bool = False
    #: Whether a plugin may do without identity symbols: its type follows from its place, and its version is 0.
    identity_optional: bool = False
    #: Says what else is wrong with a module or object that has all functions.
    problems: Callable[[object], list[str]] = lambda _: []
    #: Types of Slurm's plugins for which another one does the work, by their own type.
    instead: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
