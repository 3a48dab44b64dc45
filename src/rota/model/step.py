"""Job steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from rota.model.job_state import JobState

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a step has used, as measured."""

    #: Processor time in seconds.
    user_seconds: float = 0.0
    system_seconds: float = 0.0
    #: Largest resident memory of the step's processes together, bytes.
    max_rss: int = 0
    #: Bytes read from and written to disks.
    read_bytes: int = 0
    written_bytes: int = 0
    #: Joules; ``None``: it cannot be measured on this machine.
    energy: float | None = None

    def without(self, others: Iterable[Usage]) -> Usage:
        """Give what is left of processor time, reads and writes without those of others."""
        left = self
        for other in others:
            left = replace(
                left,
                user_seconds=max(left.user_seconds - other.user_seconds, 0.0),
                system_seconds=max(left.system_seconds - other.system_seconds, 0.0),
                read_bytes=max(left.read_bytes - other.read_bytes, 0),
                written_bytes=max(left.written_bytes - other.written_bytes, 0),
            )
        return left


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """A step of a job, as it is at one moment."""

    #: Step id: ``0``, ``1`` …, or ``batch``, ``extern``, ``interactive``.
    step_id: str
    name: str = ""
    state: JobState = JobState.RUNNING
    #: Names of the step's nodes.
    nodes: tuple[str, ...] = ()
    tasks: int = 1
    cpus: int = 1
    #: Processors on each node that other steps cannot have; empty: none.
    held: tuple[int, ...] = ()
    #: GRES on each node, as ``gpu:2,widget:1``, empty where it is none; no texts: not known. And the ids of its GPUs
    #: there, as far as they are known. Other steps cannot have them, unless they can have its processors.
    gres: tuple[str, ...] = ()
    gpus: tuple[tuple[int, ...], ...] = ()
    #: Seconds; ``None``: none but the job's.
    time_limit: int | None = None
    #: Unix seconds; the end is ``None`` while the step runs.
    start_time: int = 0
    end_time: int | None = None
    exit_code: int = 0
    #: Signal that ended the step; 0: none.
    signal: int = 0
    usage: Usage = Usage()


class StepClient(NamedTuple):
    """What is known of a step as long as its ``srun`` is connected."""

    #: Host and process id of that, ``host:pid``; empty: there is none.
    process: str = ""
    #: How tasks are distributed: ``Block``, ``Cyclic`` or ``Plane``; empty: not known.
    distribution: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskUsage:
    """What the processes of one task of a running step use, as measured at one moment."""

    #: Id of its step, as `StepRecord.step_id`, its number in that step, and the name of its node.
    step_id: str
    task: int
    node: str
    pids: tuple[int, ...] = ()
    #: Processor time, of processes that its own have waited for too, seconds.
    cpu_seconds: float = 0.0
    #: The largest resident memory of all of them now, and of each of them before, bytes.
    max_rss: int = 0
    #: Virtual memory, bytes.
    virtual: int = 0
    #: Page faults that needed a disk.
    pages: int = 0
    #: Bytes read from and written to disks.
    read_bytes: int = 0
    written_bytes: int = 0
