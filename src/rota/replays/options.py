"""The options of a replay."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rota.results.provenance import Provenance

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rota.accounting import AssociationTree
    from rota.replays.failures import Failure
    from rota.replays.reservation_file import ReservationLine
    from rota.results.usage_file import UsageFile


class ReplayWarning(UserWarning):
    """Something about a replay that its user should know."""


def warn(message: str) -> None:
    """Give a `ReplayWarning`, at the line outside of rota that has led to it."""
    level, frame = 1, sys._getframe()  # noqa: SLF001 - warnings counts frames, of which nothing public tells the module
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "rota":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, ReplayWarning, stacklevel=level)


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    """Options of a replay; the defaults are those of ``rota replay``."""

    scheduler: str = "sched/easy"
    priority: str = "priority/basic"
    #: Node selection plugin, for machines on which nodes are shared.
    select: str = "select/cons_tres"
    #: Directories of plugins, searched before the installed and the built-in ones.
    plugin_dir: Sequence[Path | str] = ()
    #: Time limits of the jobs: ``requested``, or the ``actual`` run times.
    estimate: str = "requested"
    #: Submit jobs that name a preceding job (SWF field 17) their think time (field 18) after its end.
    think_time: bool = False
    #: A scheduling pass after each ``event``, or one for each ``instant``.
    pass_per: str = "instant"
    #: Associations; ``None``: the workload's users and accounts, with one share each.
    associations: AssociationTree | None = None
    #: Usage of the associations before the log begins.
    usage: UsageFile | None = None
    #: Time zone, such as ``Europe/Stockholm``; empty: that of the workload, else UTC.
    time_zone: str = ""
    #: Node failures; see `rota.replays.failures`.
    failures: Sequence[Failure] = ()
    #: Advance reservations; see `rota.replays.reservation_file`.
    reservations: Sequence[ReservationLine] = ()
    #: Record a history of plans, fair-share and priority factors (if the priority plugin has these), and the nodes of
    #: each job.
    history: bool = False
    #: Go on after a fault of a plugin, with rota's default in its place: FIFO. The result counts them.
    tolerate_faults: bool = False
    #: Refuse a configuration that asks for what rota does not model, and jobs that can never run; else these are
    #: reported, and left out.
    strict: bool = False
    #: Check the engine's invariants at the end.
    check: bool = False
    #: Distinguishes the run from others in reports.
    label: str = ""
    #: How the run came about, which goes into its result.
    provenance: Provenance = field(default_factory=Provenance)
    #: Is called with messages for the administrator, such as about jobs that are left out or refused, and what plugins
    #: log. By default each is a warning.
    report: Callable[[str], object] = field(default=warn)
    #: Is called now and then with the number of jobs submitted so far and their total.
    progress: Callable[[int, int], object] | None = None
