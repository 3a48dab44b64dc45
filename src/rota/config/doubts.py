"""What a configuration asks for and rota does not do, each told with its consequence.

`unmodelled` is about slurm.conf: options that nobody knows, and what Slurm has and rota does not model. `idle` is about
``--set``: what no plugin in use heeds. What is not told here makes no difference to a schedule.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rota.config.keys import KNOWN_KEYS, RECORD_KEYS
from rota.config.options import (
    BUILT_IN,
    HEEDED,
    consequence,
    did_you_mean,
    find_option,
    is_known,
    key_of,
    names_in,
    option_names,
)
from rota.config.partitions import READ
from rota.config.settings import own_prefixes
from rota.model import InputError
from rota.model.units import FLAGS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from rota.model import ClusterConfig

_SWITCHES = "jobs are placed without regard to switches and blocks of nodes"
_POWER = "all nodes are powered up at all times"
#: Keys of slurm.conf that change what Slurm does and not what rota does: values with which they do not, and the
#: consequence.
_KEYS = {
    "jobsubmitplugins": (("",), "jobs are as they were submitted: none is changed or refused by a plugin"),
    "burstbuffertype": (("", "none", "burst_buffer/none"), "no job waits for a burst buffer"),
    "completewait": (("0",), "what a job had is free at once when it ends"),
    "mcsplugin": (("mcs/none",), "jobs of different MCS labels may share nodes"),
    "nodefeaturesplugins": (("",), "features of nodes never change"),
    "prioritysitefactorplugin": (("", "site_factor/none"), "no job has a site factor"),
    "suspendprogram": (("",), _POWER),
}
#: Truth values that mean no.
_OFF = tuple(word for word, value in FLAGS.items() if not value)
#: The same for keys of partitions.
_PARTITION_KEYS = {
    "allocnodes": (("all",), "jobs may be submitted from all nodes"),
    "alternate": (("",), "jobs of a partition that is down stay there"),
    "exclusivetopo": (_OFF, _SWITCHES),
    "exclusiveuser": (_OFF, "jobs of several users may share a node"),
    "maxcpuspersocket": (("unlimited",), "jobs may use all processors of a socket"),
    "disablerootjobs": (_OFF, "root may submit jobs to it"),
    "preemptmode": (("", "off", "cancel", "requeue"), "the cluster's PreemptMode counts"),
}
#: Keys of slurm.conf that rota reads.
READ_KEYS = frozenset(
    """
    AccountingStorageEnforce AccountingStorageTRES ClusterName ControlMachine DefCpuPerGPU DefMemPerCPU DefMemPerGPU
    DefMemPerNode DependencyParameters EnforcePartLimits Epilog FairShareDampeningFactor FirstJobId GresTypes
    JobRequeue KillOnBadExit KillWait Licenses MailDomain MailProg MaxArraySize MaxBatchRequeue MaxJobCount
    MaxMemPerCPU MaxMemPerNode MaxStepCount MinJobAge MpiDefault OverTimeLimit PluginDir PreemptExemptTime PreemptMode
    PreemptType PriorityCalcPeriod PriorityDecayHalfLife PriorityFavorSmall PriorityFlags PriorityMaxAge PriorityType
    PriorityUsageResetPeriod PriorityWeightAge PriorityWeightAssoc PriorityWeightFairshare PriorityWeightJobSize
    PriorityWeightPartition PriorityWeightQOS PriorityWeightTRES PrivateData Prolog PrologEpilogTimeout
    SchedulerParameters SchedulerType SelectType SelectTypeParameters SlurmctldHost SlurmVersion TopologyParam
    TopologyPlugin TrackWCKey
    """.lower().split()
)
_NODE_KEYS = frozenset(
    """
    Boards CoreSpecCount CoresPerSocket CPUs Feature Features Gres MemSpecLimit NodeName Procs RealMemory Sockets
    SocketsPerBoard State ThreadsPerCore TmpDisk Weight
    """.lower().split()
)
#: Keys that only some plugins heed.
_OF_MULTIFACTOR = frozenset(
    key for key in READ_KEYS if key.startswith("priority") and key not in {"prioritytype", "priorityflags"}
) | {"fairsharedampeningfactor"}
_KEY = re.compile(r"\s*(\w+)")


def unmodelled(config: ClusterConfig, plugins: Iterable[str], qos: Collection[str]) -> list[str]:
    """Tell what rota does not do as the configuration says; a line for each, with file and line where they are known.

    Args:
        config: The configuration.
        plugins: Types of the plugins in use, whose own options are known.
        qos: Names of the QOS that are defined.

    Raises:
        InputError: a key or an option that was given in Python, not in a file, does not exist.
    """
    types = tuple(plugins)
    own = own_prefixes(types)
    _require_keys(config)
    # This plugin refuses flags that it does not know.
    checked = {"priorityflags"} if "priority/multifactor" in types else set()
    told = [one for key in HEEDED if key not in checked for one in _doubtful_options(config, key, own)]
    for key, (harmless, what) in _KEYS.items():
        if key in config.parameters and config.get(key).lower() not in harmless:
            name = KNOWN_KEYS[key]
            told.append(str(config.error(name, f"{config.get(key)} is not modelled: {what}")))
    return [*told, *_doubtful_topology(config), *_doubtful_partitions(config, qos)]


def _doubtful_topology(config: ClusterConfig) -> Iterator[str]:
    plugin = config.get("TopologyPlugin").lower()
    if plugin in {"", "topology/none", "topology/default", "topology/flat"}:
        return
    problem = f"{plugin} is not modelled"
    if plugin == "topology/tree":
        if config.has_tree() and config.get("SelectType", "select/cons_tres").lower() != "select/linear":
            return
        problem = "topology/tree is not modelled with select/linear"
        if not config.switches:
            problem = "topology/tree needs topology.conf beside slurm.conf, which is not there"
        elif not config.has_tree():
            problem = f"TopologyParam={config.get('TopologyParam')} is not modelled"
    yield str(config.error("TopologyPlugin", f"{problem}: {_SWITCHES}"))


def _require_keys(config: ClusterConfig) -> None:
    """Refuse keys that do not exist and are from no file, whose reader tells of them."""
    for key in config.parameters.keys() - config.places.keys() - KNOWN_KEYS.keys() - {"nodeset"}:
        raise InputError(f"no key of slurm.conf{did_you_mean(key, KNOWN_KEYS.values())}", field=key)


def _doubtful_options(config: ClusterConfig, key: str, own: tuple[str, ...]) -> Iterator[str]:
    for item in names_in(config.get(key)):
        name = item.partition("=")[0].strip()
        if name.lower().startswith(own) or find_option(key, name) is not None:
            continue
        if is_known(key, name):
            if what := consequence(key, name):
                yield str(config.error(KNOWN_KEYS[key], f"{name} is not modelled: {what}"))
            continue
        problem = f"{name} is no option that rota knows, and has no effect{did_you_mean(name, option_names(key))}"
        error = config.error(KNOWN_KEYS[key], problem)
        if key not in config.places:
            raise error
        yield str(error)


def _doubtful_partitions(config: ClusterConfig, qos: Collection[str]) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    for partition in config.partitions:
        for key, value in partition.options.items():
            harmless, what = _PARTITION_KEYS.get(key, ((), ""))
            if what and value.lower() not in harmless:
                name = (RECORD_KEYS["partitionname"] or {}).get(key, key)
                found.setdefault(f"{name} is not modelled: {what}", []).append(partition.name)
        if partition.qos and partition.qos.lower() not in qos:
            problem = f"QOS {partition.qos} is not defined, so none of its limits holds: --associations defines it"
            found.setdefault(problem, []).append(partition.name)
    for problem, names in found.items():
        yield f"partition {', '.join(names)}: {problem}"


# ---- settings -------------------------------------------------------------------------------------------------------


def idle(settings: Sequence[str], plugins: Collection[str]) -> list[str]:
    """Tell which of the settings nothing heeds, with these plugins."""
    return [f"--set {text}: {why}" for text in settings for why in _why_idle(text, plugins)]


def idle_limits(
    qos: Iterable[tuple[str, str]], associations: Iterable[tuple[str, str]], config: ClusterConfig
) -> list[str]:
    """Tell which limits of ``--set-qos`` and ``--set-assoc`` do not hold, as none is enforced.

    Raises:
        InputError: ``AccountingStorageEnforce`` cannot be used.
    """
    if "limits" in config.enforced():
        return []
    given = [("--set-qos", *one) for one in qos] + [("--set-assoc", *one) for one in associations]
    return [
        f"{option} {who} {text}: no limit holds without AccountingStorageEnforce=limits"
        for option, who, text in given
        if re.search(r"(^|\s)(Grp|Max|Min)", text, re.IGNORECASE)
    ]


def _why_idle(text: str, plugins: Collection[str]) -> Iterator[str]:
    match = _KEY.match(text)
    name = match[1] if match else ""
    key = name.lower()
    if key in RECORD_KEYS:
        read = {"partitionname": READ, "nodename": _NODE_KEYS}.get(key)
        written = re.findall(r"(\w+)\s*=", text)
        yield from (f"nothing in rota reads {one}" for one in written if read is not None and one.lower() not in read)
    elif key in HEEDED:
        items = text.partition("=")[2]
        for item in () if "-=" in text else names_in(items):
            yield from _option_idle(key, item.partition("=")[0], plugins)
    elif (option_key := key_of(name)) is not None:
        yield from _option_idle(option_key, name, plugins)
    elif key in _OF_MULTIFACTOR and not _heeds(("priority/multifactor",), plugins):
        yield _without("priority/multifactor", plugins)
    elif key in KNOWN_KEYS and key not in READ_KEYS and key not in _KEYS:
        yield f"nothing in rota reads {KNOWN_KEYS[key]}"


def _option_idle(key: str, name: str, plugins: Collection[str]) -> Iterator[str]:
    option = find_option(key, name)
    if option is None:
        if is_known(key, name) and not consequence(key, name):  # else it is told as not modelled
            yield f"nothing in rota reads {name}"
    elif option.plugins and not _heeds(option.plugins, plugins):
        yield _without(" and ".join(option.plugins), plugins)


def _heeds(wanted: Iterable[str], plugins: Collection[str]) -> bool:
    """Whether one of the plugins heeds something. Plugins of others may heed whatever that of their type does."""
    return any(
        one in plugins or any(used.startswith(one.split("/")[0]) and used not in BUILT_IN for used in plugins)
        for one in wanted
    )


def _without(wanted: str, plugins: Iterable[str]) -> str:
    major = wanted.split("/", maxsplit=1)[0]
    used = next((one for one in plugins if one.startswith(f"{major}/")), "no such plugin")
    return f"only {wanted} heeds it, and {used} is in use"
