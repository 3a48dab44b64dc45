"""Reading the files of a scenario: workload, slurm.conf, associations and what else there may be."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rota.config.local_time import parse_moment, utc_offset_of
from rota.config.options import did_you_mean
from rota.config.plugins import plugin_dirs
from rota.model import InputError
from rota.workload import FILTERS, Transform, bundled, bundled_names, read_workload, transform, window
from rota.workload.header import time_zone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rota.accounting import AssociationTree
    from rota.model import ClusterConfig
    from rota.workload import Workload

    Paths = str | Path | Sequence[str | Path]

#: Names of the changes of a workload.
TRANSFORMS = frozenset(one.name for one in fields(Transform))


def find_workload(name: str | Path, zone: str = "") -> Workload:
    """Read a file or, if there is none of this name, a bundled log. The time zone is that of files of sacct."""
    path = Path(name)
    if not path.exists():
        path = bundled(str(name)) or path
    try:
        if not path.is_file():
            return read_workload(path, zone)
        told = path.stat()
        return _remembered(path, zone, told.st_mtime_ns, told.st_size)
    except InputError as error:
        if path.exists():
            raise
        names = ", ".join(bundled_names())
        raise InputError(f"{error.problem} (logs that come with rota: {names})", path=path) from None


@lru_cache(maxsize=2)
def _remembered(path: Path, zone: str, _changed_ns: int, _size: int) -> Workload:
    """Read a file once for all replays that one process makes of it; workloads are values."""
    return read_workload(path, zone)


def changed_associations(
    tree: AssociationTree | None,
    qos_settings: Sequence[tuple[str, str]],
    assoc_settings: Sequence[tuple[str, str]],
) -> AssociationTree | None:
    """Make the changes of ``--set-qos`` and ``--set-assoc``.

    Args:
        tree: The associations, which are not modified; ``None``: there are none, except the QOS ``normal``.
        qos_settings: See `with_qos`.
        assoc_settings: See `with_associations`.

    Raises:
        InputError: one cannot be made.
    """
    if not qos_settings and not assoc_settings:
        return tree
    from rota.sacctmgr import first_tree
    from rota.sacctmgr.settings import with_associations, with_qos

    if tree is None and assoc_settings:
        raise InputError("there are none to change: give --associations", field="--set-assoc")
    return with_associations(with_qos(tree or first_tree("cluster"), qos_settings), assoc_settings)


def paths(given: Paths) -> list[Path]:
    """Give one path or several as a list."""
    return [Path(given)] if isinstance(given, str | Path) else [Path(one) for one in given]


def is_state(path: Path) -> bool:
    """Whether it is the state folder of a live cluster; the store, which is large, is imported only for folders."""
    if not path.is_dir():
        return False
    from rota.store.location import is_state

    return is_state(path)


def stretch(log: Workload, begin: str | None, end: str | None, zone: str) -> Workload:
    """Take a stretch of a workload, see `rota.workload.window`; the moments are as `parse_moment` takes them.

    Raises:
        InputError: one is no moment, or no job is left.
    """
    origin, offset = log.unix_start_time or 0, utc_offset_of(zone or time_zone(log.header))
    first, last = (None if one is None else parse_moment(one, origin, offset) - origin for one in (begin, end))
    return window(log, first, last)


def filtered(log: Workload, name: str, config: ClusterConfig) -> Workload:
    """Clean a workload.

    Raises:
        InputError: there is no such filter, or it leaves no job.
    """
    if name not in FILTERS:
        raise InputError(f"{name!r} is none of {', '.join(sorted(FILTERS))}", field="--filter")
    kept = FILTERS[name](log, sum(node.cpus for node in config.nodes))
    if not len(kept):
        raise InputError(f"--filter {name} leaves no job", path=log.source)
    return kept


def transformed(log: Workload, changes: dict[str, Any]) -> tuple[Workload, list[str]]:
    """Change a workload; give what was changed too. ``None`` is no change."""
    for name in changes.keys() - TRANSFORMS:
        raise InputError(f"no change of a workload{did_you_mean(name, TRANSFORMS)}", field=name)
    how = Transform(**{name: value for name, value in changes.items() if value is not None})
    told = [f"{one.name}={getattr(how, one.name)}" for one in fields(how) if getattr(how, one.name) != one.default]
    return transform(log, how), told


def configure(
    log: Workload,
    config_file: str | Path | None,
    settings: Sequence[str],
    recorded: ClusterConfig | None,
    *,
    procs: int | None,
    plugins: Sequence[str],
    warn: Callable[[Iterable[str]], None],
) -> tuple[ClusterConfig, Sequence[Path]]:
    """Make the configuration: slurm.conf, else the live cluster's, else the processors in the log's header.

    Its files are given too.
    """
    if config_file is not None:
        from rota.config import read_slurm_conf

        loaded = read_slurm_conf(Path(config_file), settings, plugins)
        warn(loaded.warnings)
        return loaded.config, loaded.files
    if recorded is not None:
        config = recorded
    else:
        from rota.config import interchangeable

        if procs is None:
            raise InputError(
                "the header names neither MaxProcs nor MaxNodes: name the machine's processors with --procs, or "
                "describe it with --config",
                path=log.source,
            )
        config = interchangeable(procs)
    if not settings:
        return config, ()
    from rota.config import with_settings

    loaded = with_settings(config, settings, plugins)
    warn(loaded.warnings)
    return loaded.config, ()


def extras(
    config: ClusterConfig,
    usage: str | Path | None,
    node_failures: str | Path | None,
    reservations: str | Path | None,
) -> dict[str, Any]:
    """Read what is used and set apart: give options by their names."""
    found: dict[str, Any] = {}
    if usage is not None:
        from rota.results.usage_file import read_usage

        found["usage"] = read_usage(Path(usage))
    if reservations is not None:
        from rota.replays.reservation_file import read_reservations

        found["reservations"] = read_reservations(Path(reservations), config)
    if node_failures is not None:
        from rota.replays.failures import read_failures

        found["failures"] = read_failures(Path(node_failures), [node.name for node in config.nodes])
    return found


def configured_dirs(config: ClusterConfig, warn: Callable[[Iterable[str]], None]) -> list[str]:
    """Give the directories of ``PluginDir`` that exist."""
    warnings: list[str] = []
    found = plugin_dirs(config, warnings)
    warn(warnings)
    return found


def read_tree(
    paths: Sequence[Path], config: ClusterConfig, warn: Callable[[Iterable[str]], None], *, named: bool
) -> AssociationTree | None:
    """Read associations; ``None``: there are no files. ``named``: of the cluster of the configuration."""
    if not paths:
        return None
    from rota.sacctmgr import read_associations

    loaded = read_associations(paths, config.cluster_name if named else None)
    warn(loaded.warnings)
    return loaded.tree
