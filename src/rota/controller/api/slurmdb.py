"""slurmrestd's query for jobs of the accounting, in words of ``sacct``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.commands.getopt import UsageError
from rota.commands.moments import parse_slurm_time
from rota.listings.openapi.submission import PropertyError
from rota.listings.sacct import accounting
from rota.listings.sacct_choice import states_of
from rota.listings.sacct_table import ids_of

if TYPE_CHECKING:
    from rota.controller.api import questions as q
    from rota.controller.cluster import Cluster
    from rota.listings.view import View

#: Parameters, and the options that say the same.
_OPTIONS = {
    "account": "--accounts",
    "cluster": "--clusters",
    "end_time": "--endtime",
    "group": "--gid",
    "groups": "--gid",
    "job_name": "--name",
    "node": "--nodelist",
    "partition": "--partition",
    "qos": "--qos",
    "start_time": "--starttime",
    "state": "--state",
    "step": "--jobs",
    "wckey": "--wckeys",
}
#: Parameters that do nothing: nothing has to be waited for, and all that is known is told.
_IDLE = frozenset({"disable_wait_for_result", "format"})
_REFUSED = frozenset(
    {
        "association",
        "constraints",
        "cpus_max",
        "cpus_min",
        "exit_code",
        "nodes_max",
        "nodes_min",
        "reason",
        "reservation",
        "submit_time",
    }
)
#: A start before all jobs.
_ALL = "1970-01-02"
#: What slurmrestd says of values that cannot be read.
_UNREADABLE = {
    "start_time": "Unable to parse time format",
    "end_time": "Unable to parse time format",
    "step": "Unable to parse job/step format",
    "state": "Unable to parse CSV list",
}
_TRUE = frozenset({"true", "t", "yes", "y", "1", "on"})


def slurmdb_jobs(_: Cluster, view: View, asked: q.Queried) -> dict[str, Any]:
    """Give the document of the jobs of a query: every run of each, of all users that may be seen.

    Raises:
        PropertyError: a parameter is not known, or its value cannot be read.
        UsageError: ``sacct`` refuses the values together.
    """
    query = {name.lower(): value for name, value in asked.query.items()}
    words = ["--allusers", "--duplicates"]
    if not query.keys() & {"start_time", "step", "state"}:
        words.append(f"--starttime={_ALL}")
    for name, value in query.items():
        try:
            words += _words(name, value, view)
        except UsageError:
            raise PropertyError(name, _UNREADABLE[name]) from None
    return accounting(words, view)


def _words(name: str, value: str, view: View) -> list[str]:
    if name == "skip_steps":
        return ["--allocations"] if value.lower() in _TRUE else []
    if name in _IDLE:
        return []
    if name in _REFUSED:
        raise PropertyError(name, f"{name} is not supported by rota")
    if name not in _OPTIONS:
        raise PropertyError("", "Unknown Query field")
    if name.endswith("_time"):
        parse_slurm_time(value, view.now, view.utc_offset, past=True)
    elif name == "step":
        ids_of("sacct", [value])
    elif name == "state":
        states_of(value)
    return [f"{_OPTIONS[name]}={value}"]
