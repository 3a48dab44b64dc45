"""``jobs.parquet``: the schedule as a table for data tools.

There is a row for each job, in workload order. Times are int64 Unix seconds, durations int64 seconds. ``start`` is null
for a job that never started, ``end`` for one that has not ended, and so is what is computed from them. The file
contains no time of writing, so the same schedule gives the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rota.model import InputError
from rota.results.schedule import STATES, Schedule

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

#: Meaning of each column, which is written to the file as field metadata.
COLUMNS = {
    "job_id": "job number in the workload",
    "user_id": "who submitted it",
    "submit": "submission, Unix seconds",
    "start": "start, Unix seconds; null: it never ran",
    "end": "end, Unix seconds; null: it has not ended",
    "procs": "processors",
    "time_limit": "requested time that the scheduler worked with, seconds",
    "state": "state at the end of the replay, Slurm's long form",
    "wait": "start - submit, seconds",
    "run": "end - start, seconds",
    "bounded_slowdown": "max(1, (wait + run) / max(run, 10 s))",
}
#: A column of numbers, which is present if the workload has them.
RECORDED = {"recorded_wait": "wait on the real machine, seconds; null: unknown"}
#: Text columns, which are present if the replay knows them.
TEXT_COLUMNS = {
    "user_name": "name of who submitted it",
    "account": "account that it was charged to",
    "partition": "partition in which it ran, or was to run last; empty: it was refused",
    "qos": "quality of service; empty: none is known",
    "nodes": "hostlist of the nodes that it ran on; empty: it never ran",
    "node_cpus": "its processors on each of them, as Slurm's SLURM_JOB_CPUS_PER_NODE",
    "node_type": "type of these nodes, called by its nodes; empty: it never ran",
    "gres": "its GRES, as gres/gpu=2; empty: none",
}
_STORED = ("job_id", "user_id", "submit", "start", "end", "procs", "time_limit")
_NULLABLE = ("start", "end", *RECORDED)
#: Columns with few different values. For others, dictionary encoding takes more time and space.
_REPEATED = {"user_id", "procs", "time_limit", "state"}
#: The field of `Schedule` for each text column.
_TEXTS = {name: {"user_name": "user"}.get(name, name) for name in TEXT_COLUMNS}


def write_jobs(schedule: Schedule, path: Path) -> None:
    """Write the schedule to a Parquet file.

    Raises:
        OSError: the file cannot be written.
    """
    import pyarrow.parquet as pq

    table = jobs_table(schedule)
    repeated = [name for name in table.column_names if name in _REPEATED or name in _TEXTS]
    pq.write_table(table, path, compression="zstd", use_dictionary=repeated)


def read_jobs(path: Path) -> Schedule:
    """Read a schedule back.

    Raises:
        InputError: the file does not exist, is not Parquet, or lacks a column or has one of another type.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names = pq.read_schema(path).names
        present = [name for name in _TEXTS if name in names]
        recorded = [name for name in RECORDED if name in names]
        table = pq.read_table(path, columns=[*_STORED, "state", *present, *recorded])
        columns: dict[str, Any] = {name: _integers(table, name) for name in (*_STORED, *recorded)}
        columns |= {_TEXTS[name]: _texts(table, name) for name in present}
        return Schedule(**columns, state=_states(table))
    except FileNotFoundError:
        raise InputError("no such file", path=path) from None
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise InputError(f"not a table of jobs: {_first_line(error)}", path=path) from error


def jobs_table(schedule: Schedule) -> pa.Table:
    """Make the table, with descriptions of columns, in the order of ``COLUMNS``, text columns last."""
    import pyarrow as pa

    never = schedule.start < 0
    unfinished = schedule.end < 0
    missing = {"start": never, "wait": never, "end": unfinished}
    missing |= dict.fromkeys(("run", "bounded_slowdown"), never | unfinished)
    arrays = []
    for name in COLUMNS:
        values = getattr(schedule, name)
        if name == "state":
            names = pa.array([state.value for state in STATES])
            arrays.append(pa.DictionaryArray.from_arrays(pa.array(values), names))
        else:
            arrays.append(pa.array(values, mask=missing.get(name)))
    described = dict(COLUMNS)
    if schedule.recorded_wait is not None:
        described |= RECORDED
        arrays.append(pa.array(schedule.recorded_wait, mask=schedule.recorded_wait < 0))
    for name, text in TEXT_COLUMNS.items():
        texts = getattr(schedule, _TEXTS[name])
        if texts is not None:
            described[name] = text
            arrays.append(pa.array(texts, pa.string()).dictionary_encode())
    fields = [
        pa.field(name, array.type, metadata={"description": text})
        for (name, text), array in zip(described.items(), arrays, strict=True)
    ]
    return pa.table(arrays, schema=pa.schema(fields))


def _integers(table: pa.Table, name: str) -> NDArray[np.int64]:
    """Give a column as int64, with -1 for null where that is allowed."""
    import pyarrow as pa

    column = table.column(name)
    if name in _NULLABLE:
        column = column.fill_null(-1)
    if column.null_count:
        raise ValueError(f"column {name} has empty values")
    values: NDArray[np.int64] = column.cast(pa.int64()).to_numpy()
    return values.copy()  # Arrow's memory is read-only


def _texts(table: pa.Table, name: str) -> tuple[str, ...]:
    """Give a text column."""
    import pyarrow as pa

    column = table.column(name)
    if column.null_count:
        raise ValueError(f"column {name} has empty values")
    return tuple(column.cast(pa.string()).to_pylist())


def _states(table: pa.Table) -> NDArray[np.int8]:
    """Give the states as indices of ``STATES``."""
    import pyarrow as pa

    encoded = table.column("state").cast(pa.string()).dictionary_encode().combine_chunks()
    names = encoded.dictionary.to_pylist() if len(encoded) else []
    place = {state.value: i for i, state in enumerate(STATES)}
    unknown = [name for name in names if name not in place]
    if unknown or encoded.null_count:
        raise ValueError(f"unknown state {unknown[0] if unknown else None!r}")
    chosen = np.array([place[name] for name in names], np.int8)
    return chosen[encoded.indices.to_numpy()] if len(encoded) else np.zeros(0, np.int8)


def _first_line(error: Any) -> str:
    """Give the first line of an error's text. The text of a KeyError is its key in quotes."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return text.splitlines()[0] if text else type(error).__name__
