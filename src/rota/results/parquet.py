"""``jobs.parquet``: the schedule as a table that any data tool reads.

One row a job, in workload order. Times are int64 Unix seconds, durations int64 seconds. A job that never started has no
``start``, one that has not ended no ``end``, and neither has what would be computed from them: null, not a number that
means something else. The file holds no time of writing, so the same schedule gives the same bytes.
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

#: What each column holds; the file carries these texts as field metadata.
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
#: Columns of text, which are there only when the replay knew it.
TEXT_COLUMNS = {
    "user_name": "name of who submitted it",
    "account": "account that it was charged to",
    "nodes": "hostlist of the nodes that it ran on; empty: it never ran",
    "node_cpus": "its processors on each of them, as Slurm's SLURM_JOB_CPUS_PER_NODE",
}
_STORED = ("job_id", "user_id", "submit", "start", "end", "procs", "time_limit")
_NULLABLE = ("start", "end")
#: Columns in which the same values come again and again; of others a dictionary takes more time, and more room.
_REPEATED = {"user_id", "procs", "time_limit", "state"}
#: The field of `Schedule` that each column of text holds.
_TEXTS = {"user_name": "user", "account": "account", "nodes": "nodes", "node_cpus": "node_cpus"}


def write_jobs(schedule: Schedule, path: Path) -> None:
    """Write the schedule to a Parquet file.

    Raises:
        OSError: it cannot be written.
    """
    import pyarrow.parquet as pq

    table = _table(schedule)
    repeated = [name for name in table.column_names if name in _REPEATED or name in _TEXTS]
    pq.write_table(table, path, compression="zstd", use_dictionary=repeated)


def read_jobs(path: Path) -> Schedule:
    """Read a schedule back.

    Raises:
        InputError: no such file, not Parquet, a column is missing or holds something else.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        present = [name for name in _TEXTS if name in pq.read_schema(path).names]
        table = pq.read_table(path, columns=[*_STORED, "state", *present])
        columns: dict[str, Any] = {name: _integers(table, name) for name in _STORED}
        columns |= {_TEXTS[name]: _texts(table, name) for name in present}
        return Schedule(**columns, state=_states(table))
    except FileNotFoundError:
        raise InputError("no such file", path=path) from None
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise InputError(f"not a table of jobs: {_first_line(error)}", path=path) from error


def _table(schedule: Schedule) -> pa.Table:
    """Lay out the columns, with their description, in the order of ``COLUMNS``, texts last."""
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
    """Give one column as int64, null as -1 where that is allowed."""
    import pyarrow as pa

    column = table.column(name)
    if name in _NULLABLE:
        column = column.fill_null(-1)
    if column.null_count:
        raise ValueError(f"column {name} has empty values")
    values: NDArray[np.int64] = column.cast(pa.int64()).to_numpy()
    return values.copy()  # Arrow's own memory is read-only


def _texts(table: pa.Table, name: str) -> tuple[str, ...]:
    """Give one column of text."""
    import pyarrow as pa

    column = table.column(name)
    if column.null_count:
        raise ValueError(f"column {name} has empty values")
    return tuple(column.cast(pa.string()).to_pylist())


def _states(table: pa.Table) -> NDArray[np.int8]:
    """Give the states as places in ``STATES``."""
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
    """Keep an error to one line; a KeyError's text is its key in quotation marks."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return text.splitlines()[0] if text else type(error).__name__
