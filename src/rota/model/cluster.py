"""What slurm.conf says, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from rota.model.errors import InputError
from rota.model.gres import have_cores
from rota.model.node import Node
from rota.model.partition import Partition
from rota.model.slurm_version import DEFAULT, Since, parse_version
from rota.model.switch import Switch
from rota.model.tres import cluster_tres
from rota.model.units import UNLIMITED, parse_time_seconds

_EMPTY: Mapping[str, str] = MappingProxyType({})
#: Largest default memory, MiB.
_MOST_MEMORY = 2**31 - 1

#: Values of ``AccountingStorageEnforce``, and all that each of them enforces.
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
    #: File and line (from 1) of each parameter that was read from a file, by lower-case key; setting and 0 of one that
    #: was set, ``schedulerparameters.bf_window`` of an option.
    places: Mapping[str, tuple[str, int]] = field(default_factory=lambda: MappingProxyType({}))
    #: Whether it is recorded which cores jobs have, not only how many; where whole sockets are allocated it always is.
    cores_apart: bool = False
    #: What topology.conf says; it counts with ``TopologyPlugin=topology/tree``.
    switches: tuple[Switch, ...] = ()

    def __post_init__(self) -> None:
        """Let keys be given in any case.

        Raises:
            InputError: a key is given twice, in different cases.
        """
        given: Any = self.parameters
        # What is no mapping of texts is refused by whoever uses it.
        if not isinstance(given, Mapping) or not any(isinstance(key, str) and not key.islower() for key in given):
            return
        lower: dict[str, str] = {}
        for key, value in self.parameters.items():
            if key.lower() in lower:
                raise InputError("is given twice, in different cases", field=key)
            lower[key.lower()] = value
        object.__setattr__(self, "parameters", lower)

    @property
    def node_sets(self) -> dict[str, tuple[str, ...]]:
        """Names of the nodes of each ``NodeSet``, which are a parameter, ``a=n1,n2 b=n3``."""
        sets = (word.partition("=") for word in self.parameters.get("nodeset", "").split())
        return {name: tuple(filter(None, nodes.split(","))) for name, _, nodes in sets}

    def get(self, key: str, default: str = "") -> str:
        """Give the value of a key (in any case) as it was written, or the default."""
        return self.parameters.get(key.lower(), default)

    def error(self, key: str, problem: str, option: str = "") -> InputError:
        """Make an error about the value of a key, or an option in it, with file and line where they are known."""
        known = self.places.get(key.lower(), (None, None))
        path, line = self.places.get(f"{key.lower()}.{option}", known)
        return InputError(problem, path=path, line=line or None, field=key)

    def seconds(self, key: str, default: int, least: int = 0) -> int:
        """Give a time in seconds, rounded up to whole minutes as Slurm does; UNLIMITED is 0.

        Raises:
            InputError: the value is not a time, or is shorter than ``least`` seconds.
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
            InputError: the value is not a whole number, or is not between ``low`` and ``high``.
        """
        text = self.get(key)
        if not text:
            return default
        if (value := _whole(text, low, high)) is None:
            raise self.error(key, f"{text!r} is not a whole number from {low} to {high}")
        return value

    def half_life(self) -> int:
        """Give ``PriorityDecayHalfLife`` in seconds; 0: usage does not decay. Slurm's default is seven days.

        Raises:
            InputError: the value is not a time.
        """
        return self.seconds("PriorityDecayHalfLife", 7 * 86400)

    def default_memory(self) -> tuple[int, int]:
        """Give ``DefMemPerNode`` and ``DefMemPerCPU`` in MiB; 0: not set.

        Raises:
            InputError: a value is not a number of MiB.
        """
        return self.integer("DefMemPerNode", 0, 0, _MOST_MEMORY), self.integer("DefMemPerCPU", 0, 0, _MOST_MEMORY)

    def most_memory(self) -> tuple[int, int]:
        """Give ``MaxMemPerNode`` and ``MaxMemPerCPU`` in MiB; 0: not set.

        Raises:
            InputError: a value is not a number of MiB.
        """
        texts = (self.get(key) for key in ("MaxMemPerNode", "MaxMemPerCPU"))
        unlimited = [text.lower() in UNLIMITED for text in texts]
        per_node = 0 if unlimited[0] else self.integer("MaxMemPerNode", 0, 0, _MOST_MEMORY)
        return per_node, 0 if unlimited[1] else self.integer("MaxMemPerCPU", 0, 0, _MOST_MEMORY)

    def has(self, name: str) -> bool:
        """Whether the Slurm of ``SlurmVersion`` does something, named as in `Since`.

        Raises:
            InputError: the value is no version.
        """
        text, since = self.get("SlurmVersion"), Since[name].value
        try:
            return since <= (parse_version(text) if text else DEFAULT)
        except ValueError as error:
            raise self.error("SlurmVersion", str(error)) from None

    def gpu_defaults(self) -> tuple[int, int]:
        """Give ``DefCpuPerGPU`` and ``DefMemPerGPU``, the latter in MiB; 0: not set.

        Raises:
            InputError: a value is not a whole number.
        """
        return self.integer("DefCpuPerGPU", 0, 0, _MOST_MEMORY), self.integer("DefMemPerGPU", 0, 0, _MOST_MEMORY)

    def prolog_epilog_timeout(self) -> int:
        """Give ``PrologEpilogTimeout`` in seconds; 0: no limit, which Slurm also writes as 65534.

        Raises:
            InputError: the value is not a number of seconds.
        """
        seconds = self.integer("PrologEpilogTimeout", 65534, 0, 65535)
        return 0 if seconds == 65534 else seconds

    def has_tree(self) -> bool:
        """Whether jobs are placed by switches: ``topology/tree``, and there are some."""
        parameters = self.get("TopologyParam").lower()
        return (
            bool(self.switches)
            and self.get("TopologyPlugin").lower() == "topology/tree"
            and not any(one in parameters for one in ("dragonfly", "topooptional"))
        )

    def tells_cores_apart(self) -> bool:
        """Whether it is recorded which cores jobs have, where nodes are shared."""
        parameters = (self.get("SelectTypeParameters"), *(part.select_parameters for part in self.partitions))
        return (
            self.cores_apart
            or any("CR_SOCKET" in text.upper() for text in parameters)
            or any(map(have_cores, {node.gres for node in self.nodes}))
        )

    def tres(self) -> tuple[str, ...]:
        """Name the cluster's TRES, in Slurm's order."""
        return cluster_tres(self.get("AccountingStorageTRES"))

    def enforced(self) -> frozenset[str]:
        """Give all that is enforced by ``AccountingStorageEnforce``.

        Raises:
            InputError: it has a word that Slurm does not know.
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
            InputError: the value is not an integer, or is not between ``low`` and ``high``.
        """
        text = self.scheduler_parameters().get(option)
        if text is None:
            return default
        if (value := _whole(text, low, high)) is None:
            raise self.error("SchedulerParameters", f"{option}={text} is not an integer from {low} to {high}", option)
        return value


def _whole(text: str, low: int, high: int) -> int | None:
    """Read a whole number; ``None`` if the text is none, or is not between ``low`` and ``high``."""
    try:
        value = int(text)
    except ValueError:
        return None
    return value if low <= value <= high else None
