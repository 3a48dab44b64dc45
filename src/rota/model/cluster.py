"""What slurm.conf says, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rota.model.errors import InputError
from rota.model.node import Node
from rota.model.partition import Partition
from rota.model.tres import cluster_tres
from rota.model.units import parse_time_seconds

_EMPTY: Mapping[str, str] = MappingProxyType({})

#: What ``AccountingStorageEnforce`` may name, and what that stands for.
_ENFORCE: dict[str, tuple[str, ...]] = {
    "": (),
    "associations": ("associations",),
    "limits": ("associations", "limits"),
    "qos": ("associations", "qos"),
    "safe": ("associations", "limits", "safe"),
    "wckeys": ("associations", "wckeys"),
    "nojobs": ("nojobs", "nosteps"),
    "nosteps": ("nosteps",),
    "all": ("associations", "limits", "qos", "safe", "wckeys"),
    "none": (),
    "0": (),
    "1": ("associations",),
    "2": ("associations", "limits"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterConfig:
    """One cluster's configuration: nodes, partitions and every other ``Key=Value`` of slurm.conf."""

    cluster_name: str = "cluster"
    nodes: tuple[Node, ...]
    partitions: tuple[Partition, ...]
    #: Every ``Key=Value`` that is not a node or partition line, by lower-case key, unknown keys included.
    parameters: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    #: Where those stand that are from a file, as (path, line from 1), by lower-case key.
    places: Mapping[str, tuple[str, int]] = field(default_factory=lambda: MappingProxyType({}))

    def get(self, key: str, default: str = "") -> str:
        """Give the value of ``key`` (any case) as it was written, or ``default``."""
        return self.parameters.get(key.lower(), default)

    def error(self, key: str, problem: str) -> InputError:
        """Make the error about the value of ``key``, with file and line where they are known."""
        path, line = self.places.get(key.lower(), (None, None))
        return InputError(problem, path=path, line=line, field=key)

    def seconds(self, key: str, default: int, least: int = 0) -> int:
        """Give a time in seconds, in whole minutes as Slurm rounds it up; UNLIMITED is 0.

        Raises:
            InputError: it is not a time, or shorter than ``least`` seconds.
        """
        text = self.get(key)
        if not text:
            return default
        try:
            seconds = parse_time_seconds(text) or 0
        except ValueError as error:
            raise self.error(key, str(error)) from None
        seconds = -(-seconds // 60) * 60
        if seconds < least:
            raise self.error(key, f"{text!r} is shorter than {least} s")
        return seconds

    def integer(self, key: str, default: int, low: int, high: int) -> int:
        """Give a whole number.

        Raises:
            InputError: not one, or outside ``low`` to ``high``.
        """
        text = self.get(key)
        if not text:
            return default
        if (value := _whole(text, low, high)) is None:
            raise self.error(key, f"{text!r} is not a whole number from {low} to {high}")
        return value

    def half_life(self) -> int:
        """Give ``PriorityDecayHalfLife`` in seconds, 0 for none; Slurm's default is seven days.

        Raises:
            InputError: it is not a time.
        """
        return self.seconds("PriorityDecayHalfLife", 7 * 86400)

    def tres(self) -> tuple[str, ...]:
        """Name the cluster's TRES, in their order."""
        return cluster_tres(self.get("AccountingStorageTRES"))

    def enforced(self) -> frozenset[str]:
        """Give what ``AccountingStorageEnforce`` names, with what each of it stands for besides.

        Raises:
            InputError: it names something that there is not.
        """
        found: set[str] = set()
        for item in self.get("AccountingStorageEnforce").split(","):
            name = item.strip().lower()
            if name not in _ENFORCE:
                known = ", ".join(one for one in _ENFORCE if one.isalpha())
                raise self.error("AccountingStorageEnforce", f"{item.strip()!r} is none of {known}")
            found.update(_ENFORCE[name])
        return frozenset(found)

    def scheduler_parameters(self) -> dict[str, str]:
        """Split ``SchedulerParameters`` into option and value; an option without a value has ``""``."""
        pairs = (item.partition("=") for item in self.get("SchedulerParameters").split(",") if item.strip())
        return {name.strip().lower(): value.strip() for name, _, value in pairs}

    def scheduler_int(self, option: str, default: int, low: int, high: int) -> int:
        """Give one integer of ``SchedulerParameters``.

        Raises:
            InputError: not an integer, or outside ``low`` to ``high``.
        """
        text = self.scheduler_parameters().get(option)
        if text is None:
            return default
        if (value := _whole(text, low, high)) is None:
            raise self.error("SchedulerParameters", f"{option}={text} is not an integer from {low} to {high}")
        return value


def _whole(text: str, low: int, high: int) -> int | None:
    """Read a whole number; ``None``: it is none, or outside of the bounds."""
    try:
        value = int(text)
    except ValueError:
        return None
    return value if low <= value <= high else None
