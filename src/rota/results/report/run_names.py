"""What runs are called beside each other: by what differs between them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rota.results.report.sameness import file_names, file_roles, machine_rows, setting_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.results.schedule import ReplayResult

#: Most settings of a configuration that are part of a name.
_MOST = 3


def telling_names(results: Sequence[ReplayResult], folders: Sequence[str] | None = None) -> tuple[str, ...]:
    """Name runs by what differs: scheduler, priority, settings, machine, files. Without a difference, by the scheduler.

    Args:
        results: The runs.
        folders: What else they can be told apart by, where that does not suffice; ``None``: their places.
    """
    typed = [_typed(result) for result in results]
    same = set(typed[0]).intersection(*typed)
    columns = [
        [result.scheduler for result in results],
        [result.priority for result in results],
        [" ".join(one for one in mine if one not in same) for mine in typed],
        *_configurations(results),
        *(file_names(results, role) for role in _roles(results)),
        [f"rota {result.provenance.version}" for result in results],
    ]
    telling = [columns[0], *(column for column in columns[1:] if len(set(column)) > 1)]
    names = [", ".join(filter(None, parts)) for parts in zip(*telling, strict=True)]
    if folders is not None and len(set(names)) < len(names):
        often = Counter(names)
        names = [f"{name}, {folder}" if often[name] > 1 else name for name, folder in zip(names, folders, strict=True)]
    return distinct(names)


def _typed(result: ReplayResult) -> tuple[str, ...]:
    """Give the settings as they were given on the command line or in Python."""
    return result.provenance.settings or tuple(filter(None, [result.options]))


def _configurations(results: Sequence[ReplayResult]) -> list[list[str]]:
    """Say by which machine, and by which settings of slurm.conf, runs differ that have not read the same files."""
    machines = [(name.lower(), texts) for name, texts in machine_rows(results)]
    counted = [", ".join(f"{texts[i] or 'no'} {name}" for name, texts in machines[:1]) for i in range(len(results))]
    if not _are_known(results) or len({_hashes(result, "config") for result in results}) < 2:
        return [counted]
    keys = setting_rows(results)
    more = f" and {len(keys) - _MOST} other settings" if len(keys) > _MOST else ""
    told = [" ".join(f"{key}={texts[i] or 'unset'}" for key, texts in keys[:_MOST]) for i in range(len(results))]
    return [counted, [f"{one}{more}" for one in told], *([] if keys or machines else [file_names(results, "config")])]


def _are_known(results: Sequence[ReplayResult]) -> bool:
    """Whether the results tell what their schedules depend on: those of an older rota do not."""
    return all(result.inputs is not None for result in results)


def _hashes(result: ReplayResult, role: str) -> tuple[str, ...]:
    return tuple(one.sha256 for one in result.provenance.files if one.role == role)


def _roles(results: Sequence[ReplayResult]) -> list[str]:
    """Name the kinds of files that were read; the jobs of the workload and the keys of slurm.conf are compared."""
    compared = {"workload", "config"} if _are_known(results) else {"workload"}
    return [role for role in file_roles(results) if role not in compared]


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Number names that occur more than once: ``a``, ``b``, ``a (2)``."""
    seen: Counter[str] = Counter()
    called = []
    for name in names:
        seen[name] += 1
        called.append(f"{name} ({seen[name]})" if seen[name] > 1 else name)
    return tuple(called)
