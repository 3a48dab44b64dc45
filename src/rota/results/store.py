"""The folder that ``rota replay --out`` writes and ``rota compare`` reads.

| file | |
|---|---|
| ``schedule.swf.gz`` | the workload with simulated waits; written by the caller |
| ``sacct.txt.gz`` | the same as a file of ``sacct``, see ``sacct_file``; written by the caller |
| ``jobs.parquet`` | a row for each job, see ``parquet`` |
| ``summary.json`` | workload, machine, policy, figures and provenance |
| ``priorities.json`` | history of fair-share and priorities, if there is one, see ``priority_history`` |
| ``plans.json`` | history of plans, if there is one, see ``plan_history`` |
| ``timing.json`` | wall time: the only file that differs between two runs of the same replay |
| ``report.html`` | the page |
| ``calibration.html`` | recorded and replayed waits, if both are known, see ``calibration``; written by the caller |

The folder is written under a temporary name beside its destination and then renamed, so it is never incomplete.
"""

from __future__ import annotations

import json
import secrets
import shutil
from contextlib import contextmanager, suppress
from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rota.model import InputError
from rota.results.inputs import read_inputs
from rota.results.parquet import read_jobs, write_jobs
from rota.results.plan_history import read_plans
from rota.results.priority_history import read_history
from rota.results.provenance import read_provenance
from rota.results.schedule import ReplayResult, Summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

#: Names of all files of a result. A folder with other files is never overwritten.
RESULT_FILES = frozenset(
    {
        *(
            "schedule.swf.gz",
            "sacct.txt.gz",
            "jobs.parquet",
            "summary.json",
            "priorities.json",
            "plans.json",
            "timing.json",
        ),
        *("report.html", "calibration.html"),
    }
)
#: Format of ``summary.json``; to be changed when older files can no longer be read.
FORMAT = "rota-result-2"
_TIMING = ("wall_s", "us_per_job")
_FIGURES = tuple(field.name for field in fields(Summary) if field.name not in _TIMING)
_HEADER: dict[str, type] = {
    "workload": str,
    "scheduler": str,
    "priority": str,
    "options": str,
    "machine_procs": int,
    "origin": int,
}


def check_out(out: Path) -> None:
    """Check before the replay, which may take long, that a result can be written to ``out``; nothing is left behind.

    Raises:
        InputError: ``out`` is a file, contains anything that is not a result, or cannot be written.
    """
    target = out.resolve()
    _check_replaceable(out, target)
    parent = target.parent
    while not parent.exists() and parent != parent.parent:
        parent = parent.parent
    with _naming(out):
        probe = _sibling(parent / target.name)
        probe.mkdir()
        probe.rmdir()


def write_result(
    result: ReplayResult, out: Path, *, more: Mapping[str, Callable[[Path], None]] = MappingProxyType({})
) -> None:
    """Write a result folder. An existing one is replaced.

    Args:
        result: The result.
        out: The folder. Missing parents are created.
        more: Functions that write further files, by the names of these; each is called with the file's path.

    Raises:
        InputError: ``out`` is a file, contains anything that is not a result, or cannot be written. It is unchanged
            then.
    """
    from rota.results.report import write_report

    target = out.resolve()
    _check_replaceable(out, target)
    with _naming(out), _new_folder(target) as folder:
        write_jobs(result.schedule, folder / "jobs.parquet")
        _write_json(_summary_json(result), folder / "summary.json")
        if result.priorities is not None:
            _write_compact_json(result.priorities.as_dict(), folder / "priorities.json")
        if result.plans is not None:
            _write_compact_json(result.plans.as_dict(), folder / "plans.json")
        _write_json({name: getattr(result.summary, name) for name in _TIMING}, folder / "timing.json")
        write_report(result, folder / "report.html")
        for name, write in more.items():
            write(folder / name)


def read_result(folder: Path) -> ReplayResult:
    """Read a result folder. The timing figures are 0 if ``timing.json`` is missing.

    Raises:
        InputError: it is not a result folder, or one of its files is missing or damaged.
    """
    if not folder.is_dir():
        raise InputError("no such folder" if not folder.exists() else "not a folder", path=folder)
    path = folder / "summary.json"
    if not path.exists():
        raise InputError("not the result of a replay: it has no summary.json", path=folder)
    stored = _read_json(path)
    if stored.get("format") != FORMAT:
        raise InputError(f"not the summary of a replay: format is not {FORMAT}", path=path)
    header = {name: _typed(stored, name, kind, path) for name, kind in _HEADER.items()}
    history, plans = folder / "priorities.json", folder / "plans.json"
    return ReplayResult(
        **header,
        schedule=read_jobs(folder / "jobs.parquet"),
        summary=_read_summary(stored, path, folder / "timing.json"),
        priorities=read_history(_read_json(history), history) if history.exists() else None,
        plans=read_plans(_read_json(plans), plans) if plans.exists() else None,
        provenance=read_provenance(_typed(stored, "provenance", dict, path), path),
        inputs=read_inputs(_typed(stored, "inputs", dict, path), path) if "inputs" in stored else None,
    )


def _summary_json(result: ReplayResult) -> dict[str, Any]:
    """Give everything but the schedule and the timing, in a fixed order."""
    header = {name: getattr(result, name) for name in _HEADER}
    figures = {name: getattr(result.summary, name) for name in _FIGURES}
    inputs = {} if result.inputs is None else {"inputs": result.inputs.as_dict()}
    return {"format": FORMAT, **header, "summary": figures, **inputs, "provenance": result.provenance.as_dict()}


def _read_summary(stored: dict[str, Any], path: Path, timing_path: Path) -> Summary:
    figures = _typed(stored, "summary", dict, path)
    timing = _read_json(timing_path) if timing_path.exists() else dict.fromkeys(_TIMING, 0.0)
    values = {name: _typed(figures, name, dict if name == "faults" else (int, float), path) for name in _FIGURES}
    for function in values["faults"]:
        _typed(values["faults"], function, int, path)
    return Summary(**values, **{name: _typed(timing, name, (int, float), timing_path) for name in _TIMING})


def _typed(stored: dict[str, Any], name: str, kind: type | tuple[type, ...], path: Path) -> Any:
    """Give a value of a JSON object, or raise an error that says what is wrong with it."""
    if name not in stored:
        raise InputError("missing", path=path, field=name)
    if not isinstance(stored[name], kind) or isinstance(stored[name], bool):
        raise InputError(f"unexpected value {stored[name]!r}", path=path, field=name)
    return stored[name]


def _write_json(data: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def _write_compact_json(data: dict[str, Any], path: Path) -> None:
    """Write JSON without spaces: histories are large and read by programs."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"not JSON: {error}", path=path) from error
    if not isinstance(data, dict):
        raise InputError("not a JSON object", path=path)
    return data


def _check_replaceable(out: Path, target: Path) -> None:
    """Refuse to overwrite anything that rota has not written."""
    if not target.exists():
        return
    if not target.is_dir():
        raise InputError("is a file, and a result is a folder", path=out)
    with _naming(out):
        names = {entry.name for entry in target.iterdir()}
    foreign = sorted(names - RESULT_FILES)
    if foreign:
        raise InputError(f"holds {foreign[0]}, which is no part of a result: choose another folder", path=out)
    if names and not _is_result(target):
        raise InputError("holds files that are not the result of a replay: choose another folder", path=out)


def _is_result(folder: Path) -> bool:
    try:
        return _read_json(folder / "summary.json").get("format") == FORMAT
    except InputError:
        return False


@contextmanager
def _naming(out: Path) -> Iterator[None]:
    """Turn errors into one line that names the folder."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", path=out) from error


@contextmanager
def _new_folder(target: Path) -> Iterator[Path]:
    """Give a temporary folder that replaces ``target`` at the end; after an error everything is unchanged."""
    missing = [parent for parent in target.parents if not parent.exists()]
    folder = _sibling(target)
    try:
        folder.mkdir(parents=True)
        yield folder
        _put_in_place(folder, target)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        for parent in missing:
            with suppress(OSError):
                parent.rmdir()
        raise


def _put_in_place(folder: Path, target: Path) -> None:
    """Rename the folder, keeping the old one until the new one is in place."""
    if not target.exists():
        folder.rename(target)
        return
    previous = _sibling(target)
    target.rename(previous)
    try:
        folder.rename(target)
    except BaseException:
        previous.rename(target)
        raise
    shutil.rmtree(previous, ignore_errors=True)


def _sibling(target: Path) -> Path:
    """Give an unused hidden name beside ``target``."""
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}")
