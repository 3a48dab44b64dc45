"""What a user hands in with a batch job, beside the request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rota.model.accounting import JobDetails


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What a user hands in with a batch job: the engine gets the `JobSpec`, and the driver this.

    Texts may hold any bytes, as Python's ``surrogateescape`` represents them.
    """

    details: JobDetails
    #: The batch script; empty: the job is an allocation.
    script: str = ""
    #: Arguments of the script.
    arguments: tuple[str, ...] = ()
    #: The environment of the script, without Slurm's variables.
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    umask: int = 0o022
    #: Soft and hard limits by the name of the resource (``NOFILE``); -1: none.
    rlimits: Mapping[str, tuple[int, int]] = field(default_factory=lambda: MappingProxyType({}))
    #: Whether output is appended to its file; else the file is emptied first.
    append: bool = False
    #: Signal before the time limit, and how many seconds before; 0: none. Whether only the script's process gets it.
    warning_signal: int = 0
    warning_seconds: int = 60
    warning_batch_only: bool = False
