"""A run of a job, as it was decided when it was launched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rota.controller.devices import NodeDevices
from rota.model.lines import AllocationLine, JobLine
from rota.model.tres import by_type, gres_text

#: RealMemory, MiB, of nodes for which slurm.conf gives none.
_NOT_GIVEN = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of a job: all that its processes are made of, beside the `Submission`."""

    #: The job when it was launched.
    job: JobLine
    allocation: tuple[AllocationLine, ...]
    devices: Mapping[str, NodeDevices] = field(default_factory=lambda: MappingProxyType({}))
    #: Memory of each processor in MiB, by the request or the partition; 0: memory is requested by node, or not at all.
    mem_per_cpu: int = 0

    @property
    def gpus_on_first_node(self) -> tuple[int, ...]:
        """The GPUs of the node on which the script runs."""
        devices = self.devices.get(self.allocation[0].node)
        return () if devices is None else devices.gpus

    @property
    def gres_of_script(self) -> tuple[str, ...]:
        """The GRES of that node, as those of a step."""
        return (gres_text(by_type(self.allocation[0].gres)),)

    @property
    def cpus(self) -> tuple[int, ...]:
        """The processors of this machine that the run is bound to; empty: it is not bound."""
        every = [devices.cpus for devices in self.devices.values()]
        return tuple(cpu for cpus in every for cpu in cpus) if all(every) else ()

    @property
    def memory(self) -> int:
        """The memory of all processes together, bytes; 0: no limit, as on nodes without RealMemory in slurm.conf."""
        each = [one.memory for one in self.allocation]
        return 0 if min(each) <= _NOT_GIVEN else sum(each) << 20
