"""``scontrol show config``: all that slurm.conf says, and Slurm's defaults of what clients read there."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from rota.config.keys import KNOWN_KEYS
from rota.listings.answer import RELEASE
from rota.listings.clock import full_duration
from rota.listings.text import NULL, plain
from rota.model.units import FLAGS, parse_time_seconds

if TYPE_CHECKING:
    from rota.listings.clock import Clock
    from rota.listings.view import View

#: Keys that are shown in any case, with their defaults.
_DEFAULTS = {
    "AccountingStorageEnforce": "none",
    "AccountingStorageTRES": "cpu,mem,energy,node,billing,fs/disk,vmem,pages",
    "AccountingStorageType": "accounting_storage/none",
    "ClusterName": "cluster",
    "DefMemPerNode": "UNLIMITED",
    "DependencyParameters": NULL,
    "EnforcePartLimits": "NO",
    "Epilog": NULL,
    "FirstJobId": "1",
    "GresTypes": NULL,
    "InactiveLimit": "0",
    "JobRequeue": "1",
    "KillOnBadExit": "0",
    "KillWait": "30",
    "Licenses": NULL,
    "MaxArraySize": "1001",
    "MaxJobCount": "10000",
    "MaxMemPerNode": "UNLIMITED",
    "MaxStepCount": "40000",
    "MaxTasksPerNode": "512",
    "MinJobAge": "300",
    "MpiDefault": "none",
    "OverTimeLimit": "0",
    "PreemptMode": "OFF",
    "PreemptType": "preempt/none",
    "PriorityType": "priority/basic",
    "Prolog": NULL,
    "PrologEpilogTimeout": "65534",
    "PrologFlags": NULL,
    "ReturnToService": "0",
    "SchedulerParameters": NULL,
    "SchedulerType": "sched/backfill",
    "SelectType": "select/cons_tres",
    "SelectTypeParameters": "CR_CPU",
    "SlurmUser": "root(0)",
    "TaskPlugin": "task/none",
    "TopologyPlugin": "topology/none",
    "TrackWCKey": "No",
}
#: Units that Slurm prints behind numbers.
_UNITS = {
    **dict.fromkeys(
        (
            *("AcctGatherNodeFreq", "BatchStartTimeout", "CompleteWait", "GroupUpdateTime", "HealthCheckInterval"),
            *("InactiveLimit", "KillWait", "MessageTimeout", "MinJobAge", "ResumeTimeout", "SchedulerTimeSlice"),
            *("SlurmctldTimeout", "SlurmdTimeout", "SuspendTimeout", "TCPTimeout", "UnkillableStepTimeout", "WaitTime"),
        ),
        "sec",
    ),
    **dict.fromkeys(("OverTimeLimit", "ResvOverRun"), "min"),
    **dict.fromkeys(("ResumeRate", "SuspendRate"), "nodes/min"),
    "EpilogMsgTime": "usec",
    "VSizeFactor": "percent",
}
#: Keys with times that Slurm prints as days-hours:minutes:seconds.
_TIMES = ("PreemptExemptTime", "PriorityCalcPeriod", "PriorityDecayHalfLife", "PriorityMaxAge")
#: Keys of slurm.conf that hold secrets.
_SECRET = frozenset({"accountingstoragepass", "jobcomppass"})


def show_config(view: View, clock: Clock) -> str:
    """Format the configuration in force."""
    config = view.config
    known = KNOWN_KEYS | {key.lower(): key for key in _DEFAULTS}
    values = dict(_DEFAULTS)
    for key, value in config.parameters.items():
        if key not in _SECRET and key != "nodeset":  # what it holds is in the lines of partitions
            values[known.get(key, key)] = plain(value) or NULL
    for of_cpu, of_node in (("DefMemPerCPU", "DefMemPerNode"), ("MaxMemPerCPU", "MaxMemPerNode")):
        if of_cpu in values and of_node.lower() not in config.parameters:
            del values[of_node]  # of the two there is one line
    enforced = values["EnforcePartLimits"]
    is_any = FLAGS.get(enforced.lower())
    values["EnforcePartLimits"] = enforced.upper() if is_any is None else "ANY" if is_any else "NO"
    values["ClusterName"] = config.cluster_name
    values["AccountingStorageTRES"] = ",".join(config.tres())
    values["SLURM_VERSION"] = RELEASE
    statistics = view.statistics()
    values["BOOT_TIME"] = clock.moment(statistics.boot_time)
    values["MaxNodeCount"] = str(len(config.nodes))
    for key, unit in _UNITS.items():
        if values.get(key, "").isdigit():
            values[key] += f" {unit}"
    for key in _TIMES:
        with suppress(ValueError):  # no time: shown as it is written
            seconds = parse_time_seconds(values[key]) if key in values else None
            values |= {} if seconds is None else {key: full_duration(seconds)}
    lines = [f"{key:<23} = {value}" for key, value in sorted(values.items(), key=lambda item: item[0].lower())]
    head = f"Configuration data as of {clock.moment(view.now)}\n"
    return head + "".join(f"{line}\n" for line in lines) + "\n" + ping(view)


def controller_host(view: View) -> str:
    """Give the name of the host on which the controller is."""
    host = view.config.get("SlurmctldHost", "") or view.config.get("ControlMachine", "") or "localhost"
    return plain(host).partition("(")[0]


def ping(view: View) -> str:
    """Give what ``scontrol ping`` prints: where the controller is, and that it is up."""
    return f"Slurmctld(primary) at {controller_host(view)} is UP\n"
