"""What is replayed: a workload, the machine that runs it, and how; read from files, and changed for another replay.

A scenario is a value: every change gives another one. Its provenance names the files that were read and every change.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rota.config.doubts import idle, idle_limits
from rota.config.more_nodes import with_nodes
from rota.config.options import did_you_mean
from rota.config.plugins import PluginTypes, plugin_types
from rota.model import InputError
from rota.replays.files import (
    TRANSFORMS,
    changed_associations,
    configure,
    configured_dirs,
    extras,
    filtered,
    find_workload,
    is_state,
    paths,
    read_tree,
    stretch,
    transformed,
)
from rota.replays.options import ReplayOptions
from rota.results.provenance import source_files
from rota.workload import bundled, files_of, only_processors

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rota.model import ClusterConfig
    from rota.replays.files import Paths
    from rota.results.provenance import SourceFile
    from rota.workload import Workload

_DEFAULT = ReplayOptions()
#: Options that are told in a result's provenance where they are not at their defaults.
_TOLD = ("think_time", "estimate", "pass_per")


@dataclass(frozen=True, slots=True, repr=False)
class Scenario:
    """A workload, the machine that runs it, and the options of the replay."""

    workload: Workload
    config: ClusterConfig
    options: ReplayOptions = field(default_factory=ReplayOptions)

    def __repr__(self) -> str:
        """Name workload, machine and plugins."""
        procs = sum(node.cpus for node in self.config.nodes)
        told = [
            f"{self.workload.name}: {len(self.workload):,} jobs on {procs:,} processors",
            self.options.scheduler,
            self.options.priority,
            self.options.label,
        ]
        return f"<Scenario {', '.join(filter(None, told))}>"

    @classmethod
    def from_files(
        cls,
        workload: str | Path,
        config: str | Path | None = None,
        associations: Paths = (),
        *,
        settings: Sequence[str] = (),
        qos_settings: Sequence[tuple[str, str]] = (),
        assoc_settings: Sequence[tuple[str, str]] = (),
        procs: int | None = None,
        nodes: str | None = None,
        begin: str | None = None,
        end: str | None = None,
        filter: str | None = None,  # noqa: A002 - as on the command line
        scheduler: str | None = None,
        priority: str | None = None,
        plugin_dir: Paths = (),
        usage: str | Path | None = None,
        node_failures: str | Path | None = None,
        reservations: str | Path | None = None,
        **options: Any,
    ) -> Scenario:
        """Read a scenario; the arguments are those of ``rota replay``.

        Args:
            workload: File of sacct or a folder of these, SWF or event file, the name of a log that comes with rota, or
                the state folder of a live cluster.
            config: slurm.conf; ``None``: the processors that the log's header names.
            associations: Accounts, users and QOS: files of ``sacctmgr dump``, or of sacctmgr's commands.
            settings: Changes of slurm.conf, as `set` takes them, which are made before it is read.
            qos_settings: See `set_qos`.
            assoc_settings: See `set_assoc`.
            procs: Number of processors, in place of the header's.
            nodes: More or fewer nodes, ``+4``, ``-2``, ``+4:like=g1``: see `with_nodes`.
            begin: ``--from``: take jobs submitted from then on, and what ran and waited then.
            end: ``--to``: take jobs submitted before.
            filter: Cleans the workload first: ``sc15``.
            scheduler: Scheduler plugin; ``None``: that of slurm.conf, else ``sched/easy``.
            priority: Priority plugin; ``None``: that of slurm.conf, else ``priority/basic``.
            plugin_dir: Folders with plugins.
            usage: Usage before the log begins, from ``--save-usage``.
            node_failures: File of node failures.
            reservations: File of advance reservations.
            options: Other options, by their names in `ReplayOptions`, and changes of the workload, see `transform`.

        Raises:
            InputError: a file or an option cannot be used; the message names it.
        """
        changes = {name: options.pop(name) for name in TRANSFORMS & options.keys()}
        how = replace(_DEFAULT, **_checked(options))
        warn = partial(_warn, how)
        recorded: ClusterConfig | None = None
        default = PluginTypes(how.scheduler, how.priority, how.select)
        if is_state(Path(workload)):
            from rota.store.history import read_history

            log, recorded = read_history(Path(workload))
            default = default._replace(sched="sched/backfill")  # as live
        else:
            log = find_workload(workload, how.time_zone)
        if begin is not None or end is not None:
            log = stretch(log, begin, end, how.time_zone)
        if procs is not None and (config is not None or recorded is not None):
            raise InputError("slurm.conf describes the machine already: leave it out", field="--procs")
        procs = log.procs if procs is None else procs
        chosen = [one for one in (scheduler, priority) if one]
        machine, config_files = configure(log, config, settings, recorded, procs=procs, plugins=chosen, warn=warn)
        if config is None and recorded is None and log.requests is not None:
            how.report("no slurm.conf: requests are of processors and time only; describe nodes with --config")
            log = only_processors(log, with_qos=bool(associations))
        if nodes is not None:
            if config is None and recorded is None:
                raise InputError("only the number of processors is known: change --procs instead", field="--nodes")
            machine = with_nodes(machine, nodes)
        if filter is not None:
            log = filtered(log, filter, machine)
        log, changed = transformed(log, changes)
        configured = plugin_types(machine, default)
        plugins = configured._replace(sched=scheduler or configured.sched, priority=priority or configured.priority)
        # Only of a file that a cluster has or had: one that was made for a replay means what it says.
        is_of_cluster = config is not None and any(map(machine.get, ("SlurmctldHost", "ControlMachine")))
        if is_of_cluster and not (scheduler or machine.get("SchedulerType")):
            how.report(
                f"slurm.conf has no SchedulerType: {plugins.sched} decides, where Slurm would take sched/backfill: "
                "choose with --scheduler"
            )
        tree = read_tree(paths(associations), machine, warn, named=config is not None)
        warn([*idle(settings, plugins), *idle_limits(qos_settings, assoc_settings, machine)])
        how = replace(
            how,
            scheduler=plugins.sched,
            priority=plugins.priority,
            select=plugins.select,
            plugin_dir=[*paths(plugin_dir), *configured_dirs(machine, warn)],
            associations=changed_associations(tree, qos_settings, assoc_settings),
            **extras(machine, usage, node_failures, reservations),
            provenance=replace(
                how.provenance,
                files=_sources(
                    str(workload),
                    ("config", config_files),
                    ("associations", paths(associations)),
                    ("usage", paths(usage or ())),
                    ("node failures", paths(node_failures or ())),
                    ("reservations", paths(reservations or ())),
                ),
            ),
        )
        named = {"node_failures": node_failures, "reservations": reservations}
        told = [
            *settings,
            *(" ".join(one) for one in (*qos_settings, *assoc_settings)),
            *(f"{name}={Path(path).name}" for name, path in named.items() if path is not None),
            *(
                f"{name}={one}"
                for name, one in (("nodes", nodes), ("from", begin), ("to", end), ("filter", filter))
                if one
            ),
            *changed,
            *_told(how, _DEFAULT),
        ]
        return cls(log, machine, _noted(how, told))

    def set(self, *settings: str, **keys: object) -> Scenario:
        """Change slurm.conf as ``rota replay --set`` does, see `rota.config.settings`.

        Args:
            settings: Changes as they are written there: ``bf_interval=60``, ``PartitionName=long MaxTime=1-0``.
            keys: The same as keywords, in any case: ``bf_interval=60``; ``True`` for an option without a value.

        Raises:
            InputError: there is no such key or option, or it cannot have this value.
        """
        from rota.config import with_settings

        texts = [*settings, *(key if value is True else f"{key}={value}" for key, value in keys.items())]
        how = self.options
        types = PluginTypes(how.scheduler, how.priority, how.select)
        loaded = with_settings(self.config, texts, types)
        before, after = plugin_types(self.config, types), plugin_types(loaded.config, types)
        types = PluginTypes(*(new if new != old else used for used, old, new in zip(types, before, after, strict=True)))
        warn = partial(_warn, how)
        warn([*loaded.warnings, *idle(texts, types)])
        dirs = [one for one in configured_dirs(loaded.config, warn) if one not in how.plugin_dir]
        how = replace(
            how,
            scheduler=types.sched,
            priority=types.priority,
            select=types.select,
            plugin_dir=[*how.plugin_dir, *dirs],
        )
        return Scenario(self.workload, loaded.config, _noted(how, texts))

    def with_nodes(self, change: str) -> Scenario:
        """Add or remove nodes as ``rota replay --nodes`` does: ``with_nodes("+4")``, ``with_nodes("+4:like=g1")``.

        Raises:
            InputError: the text has another form, there is no such node, or there are not so many to remove.
        """
        return Scenario(self.workload, with_nodes(self.config, change), _noted(self.options, [f"nodes={change}"]))

    def set_qos(self, qos: str, *settings: str) -> Scenario:
        """Change a QOS as ``rota replay --set-qos`` does: ``set_qos("normal", "GrpTRES=cpu=500")``.

        Raises:
            InputError: there is no such QOS or key.
        """
        return self._with_limits(qos_settings=[(qos, text) for text in settings])

    def set_assoc(self, who: str, *settings: str) -> Scenario:
        """Change associations as ``rota replay --set-assoc`` does: ``set_assoc("account=physics", "Fairshare=20")``.

        Raises:
            InputError: there is no such association or key.
        """
        return self._with_limits(assoc_settings=[(who, text) for text in settings])

    def using(self, **options: Any) -> Scenario:
        """Change options of the replay, by their names in `ReplayOptions`: ``using(scheduler="sched/backfill")``.

        Raises:
            InputError: there is no such option.
        """
        changed = replace(self.options, **_checked(options))
        return Scenario(self.workload, self.config, _noted(changed, _told(changed, self.options)))

    def transform(self, **changes: Any) -> Scenario:
        """Change the workload, by the names in `rota.workload.Transform`: ``transform(load=1.2)``.

        Raises:
            InputError: a value is out of range, or no job is left.
        """
        log, told = transformed(self.workload, changes)
        return Scenario(log, self.config, _noted(self.options, told))

    def _with_limits(
        self, qos_settings: Sequence[tuple[str, str]] = (), assoc_settings: Sequence[tuple[str, str]] = ()
    ) -> Scenario:
        _warn(self.options, idle_limits(qos_settings, assoc_settings, self.config))
        tree = changed_associations(self.options.associations, qos_settings, assoc_settings)
        told = [" ".join(one) for one in (*qos_settings, *assoc_settings)]
        return Scenario(self.workload, self.config, _noted(replace(self.options, associations=tree), told))


def _sources(workload: str, *others: tuple[str, Iterable[Path]]) -> tuple[SourceFile, ...]:
    """Describe the files that were read; the workload is called as it was given."""
    path = Path(workload) if Path(workload).exists() else bundled(workload) or Path(workload)
    first = source_files("workload", [path] if is_state(path) else files_of(path))
    first = [replace(one, path=workload) for one in first] if len(first) == 1 else first
    return (*first, *(one for role, files in others for one in source_files(role, files)))


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    """Refuse options that do not exist."""
    known = [one.name for one in fields(ReplayOptions)]
    for name in options:
        if name not in known:
            raise InputError(f"no option of a replay{did_you_mean(name, known)}", field=name)
    return options


def _told(options: ReplayOptions, before: ReplayOptions) -> list[str]:
    """Give the options that provenance tells, where they have changed."""
    changed = {name: getattr(options, name) for name in _TOLD if getattr(options, name) != getattr(before, name)}
    return [f"{name}={'yes' if value is True else value}" for name, value in changed.items()]


def _noted(options: ReplayOptions, changes: Sequence[str]) -> ReplayOptions:
    """Add changes to label and provenance."""
    provenance = replace(options.provenance, settings=(*options.provenance.settings, *changes))
    label = " ".join(filter(None, [options.label, *changes]))
    return replace(options, label=label, provenance=provenance)


def _warn(options: ReplayOptions, warnings: Iterable[str]) -> None:
    for warning in warnings:
        if options.strict:
            raise InputError(warning)
        options.report(f"warning: {warning}")
