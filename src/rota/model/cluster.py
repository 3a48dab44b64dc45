"""What slurm.conf says, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from rota.model.errors import InputError
from rota.model.units import parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.model.node import Node
    from rota.model.partition import Partition

_EMPTY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterConfig:
    """One cluster's configuration: nodes, partitions and every other ``Key=Value`` of slurm.conf."""

    cluster_name: str = "cluster"
    nodes: tuple[Node, ...]
    partitions: tuple[Partition, ...]
    #: Every ``Key=Value`` that is not a node or partition line, by lower-case key, unknown keys included.
    parameters: Mapping[str, str] = field(default_factory=lambda: _EMPTY)

    def get(self, key: str, default: str = "") -> str:
        """Give the value of ``key`` (any case) as it was written, or ``default``."""
        return self.parameters.get(key.lower(), default)

    def half_life(self) -> int:
        """Give ``PriorityDecayHalfLife`` in seconds, 0 for none; Slurm's default is seven days.

        Raises:
            InputError: it is not a time.
        """
        text = self.get("PriorityDecayHalfLife", "7-0")
        try:
            return parse_time_seconds(text) or 0
        except ValueError as error:
            raise InputError(str(error), field="PriorityDecayHalfLife") from None

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
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise InputError(f"{option}={text} is not an integer from {low} to {high}", field="SchedulerParameters")
        return value
