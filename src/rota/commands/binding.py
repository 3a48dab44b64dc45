"""What jobs and steps are told of ``--cpu-bind`` and ``--mem-bind``: the options are checked, and nothing is bound."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Options of a step by which its tasks are bound if ``--cpu-bind`` is not there.
_IMPLIED = {"ntasks-per-core": "cores", "ntasks-per-socket": "sockets"}


class _Binding(NamedTuple):
    """A value of one of the options."""

    #: ``quiet`` or ``verbose``.
    loudness: str
    #: How tasks are bound, such as ``rank`` or ``map_cpu:``; and to what.
    kind: str
    places: str

    def variables(self, name: str) -> dict[str, str]:
        """Give the variables of a step."""
        return {
            name: f"{self.loudness},{self.kind}{self.places}",
            f"{name}_LIST": self.places,
            f"{name}_TYPE": self.kind,
            f"{name}_VERBOSE": self.loudness,
        }


def cpu_binding_environment(texts: Mapping[str, str], *, uses_threads: bool) -> dict[str, str]:
    """Give the variables of a step that say how its tasks are bound to processors; none: they need not be.

    Args:
        texts: The texts of its options by long name.
        uses_threads: Whether it says how many threads of a core it uses.
    """
    implied = "threads" if uses_threads else next((kind for name, kind in _IMPLIED.items() if texts.get(name)), "")
    text = texts.get("cpu-bind") or implied
    return _read(text).variables("SLURM_CPU_BIND") if text else {}


def memory_binding_environment(text: str) -> dict[str, str]:
    """Give the variables of a step by its ``--mem-bind``; empty: it is not there."""
    return _read(text).variables("SLURM_MEM_BIND") if text else {}


def memory_binding_of_job(text: str) -> dict[str, str]:
    """Give the variables by which a job tells its steps of ``--mem-bind``; empty: it is not there."""
    if not text:
        return {}
    found = _read(text)
    shown = f"{found.kind}{found.places}"
    loud = found.loudness == "verbose"
    return {"SLURM_MEM_BIND": f"verbose,{shown}" if loud else shown, "SLURM_MEM_BIND_VERBOSE": found.loudness}


def _read(text: str) -> _Binding:
    """Read a value that was checked."""
    loudness, kind, places = "quiet", "", ""
    for word in re.split(r"[,;](?![\d,])", text):  # commas join the numbers of a list, too
        name, separator, numbers = re.fullmatch(r"([^:=]*)([:=]?)(.*)", word, re.DOTALL).groups()  # type: ignore[union-attr]
        name = name.lower()
        if name in {"q", "quiet", "v", "verbose"}:
            loudness = "quiet" if name.startswith("q") else "verbose"
        elif name:
            kind, places = f"{name}:" if separator else name, numbers
    return _Binding(loudness, kind, places)
