"""The conditions by which ``squeue`` chooses jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.commands.getopt import UsageError
from rota.config.hostlist import expand_hostlist
from rota.listings.text import NULL
from rota.model import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rota.listings.view import View
    from rota.model.lines import JobLine

#: States that are no base states, short and long.
STATE_FLAGS = {
    "CG": "COMPLETING",
    "CF": "CONFIGURING",
    "RS": "RESIZING",
    "RD": "RESV_DEL_HOLD",
    "RQ": "REQUEUED",
    "RF": "REQUEUE_FED",
    "RH": "REQUEUE_HOLD",
    "RV": "REVOKED",
    "SI": "SIGNALING",
    "SE": "SPECIAL_EXIT",
    "SO": "STAGE_OUT",
    "ST": "STOPPED",
}
_BASE = [
    "PENDING",
    "RUNNING",
    "SUSPENDED",
    "COMPLETED",
    "CANCELLED",
    "FAILED",
    "TIMEOUT",
    "NODE_FAIL",
    "PREEMPTED",
    "BOOT_FAIL",
    "DEADLINE",
    "OUT_OF_MEMORY",
]
_CG = "COMPLETING"


def one_of(attribute: str, values: frozenset[str]) -> Callable[[JobLine], bool]:
    """Have jobs of which an attribute has one of these values."""
    return lambda job: getattr(job, attribute) in values


def named(names: frozenset[str]) -> Callable[[JobLine], bool]:
    """Have jobs of these names."""
    return lambda job: (job.name or NULL) in names


def in_partition(names: frozenset[str]) -> Callable[[JobLine], bool]:
    """Have jobs of these partitions."""
    return lambda job: not names.isdisjoint(job.partition.split(","))


def with_license(names: frozenset[str]) -> Callable[[JobLine], bool]:
    """Have jobs that ask for one of these licences."""
    return lambda job: not names.isdisjoint(_license_names(job))


def on_nodes(text: str, view: View) -> Callable[[JobLine], bool]:
    """Have jobs on the nodes of a hostlist.

    Raises:
        UsageError: it is none, or there is no such node.
    """
    try:
        wanted = frozenset(expand_hostlist(text))
    except ValueError:
        raise UsageError(f"squeue: error: '{text}' invalid entry for --nodelist\n") from None
    if unknown := wanted - {node.name for node in view.nodes()}:
        raise UsageError(f"squeue: error: Invalid node name {min(unknown)}\n")
    return lambda job: not wanted.isdisjoint(job.nodes)


def in_states(text: str | None) -> Callable[[JobLine], bool] | None:
    """Have jobs in the states of ``-t``; ``None``: in any.

    Raises:
        UsageError: a state is unknown.
    """
    states = _states(text)
    if states is None:
        return None
    return lambda job: job.base_state in states or job.state in states or (job.completing and _CG in states)


def _license_names(job: JobLine) -> Iterable[str]:
    return (item.partition(":")[0].partition("@")[0] for item in job.request.licenses.split(","))


def _states(text: str | None) -> frozenset[str] | None:
    """Parse ``-t``; ``None``: all states.

    Raises:
        UsageError: a state is unknown.
    """
    if not text:
        return frozenset({"PENDING", "RUNNING", "SUSPENDED", _CG}) if text is None else frozenset()
    known = {state.compact: state.value for state in JobState} | STATE_FLAGS
    known |= {name: name for name in known.values()}
    found = set()
    for word in text.split(","):
        name = word.strip().upper()
        if name == "ALL":
            return None
        if not name:
            continue
        if name not in known:
            raise UsageError(
                f"squeue: error: Invalid job state specified: {word}\n"
                f"squeue: error: Valid job states include: {','.join([*_BASE, *STATE_FLAGS.values()])}\n\n"
            )
        found.add(known[name])
    return frozenset(found)
