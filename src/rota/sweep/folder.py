"""The folder of a sweep: a file for each run that is done, and what is made of them.

=================  =====================================================================================
``runs/….json``    a run, named by all that it depends on: whoever starts the sweep again goes on
``sweep.parquet``  a row for each run
``sweep.html``     the page
=================  =====================================================================================

Every file is written beside its place and renamed: a sweep that is killed leaves no half of one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rota.model import InputError
from rota.sweep.figures import METRICS
from rota.sweep.runs import row_of
from rota.workload.files import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rota.sweep.axes import Axis
    from rota.sweep.runs import Row

TABLE, PAGE = "sweep.parquet", "sweep.html"
_RUNS = "runs"


class Folder:
    """The folder.

    Args:
        path: Where it is; it is made if it is not there.

    Raises:
        InputError: it cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            (path / _RUNS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", path=path) from None

    def read(self, key: str) -> Row | None:
        """Give the row of a run that is done; ``None`` if it is not, has failed, or is written otherwise."""
        try:
            row = row_of(json.loads((self.path / _RUNS / f"{key}.json").read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return None
        return None if row.error else row

    def keep(self, key: str, row: Row) -> None:
        """Write the row of a run.

        Raises:
            InputError: it cannot be written.
        """
        text = json.dumps(row.as_dict(), allow_nan=False)
        self.write(f"{_RUNS}/{key}.json", lambda path: path.write_text(text, encoding="utf-8"))

    def write(self, name: str, how: Callable[[Path], object]) -> Path:
        """Have a file written beside its place, and rename it; give its path.

        Raises:
            InputError: it cannot be written.
        """
        path = self.path / name
        write_file(path, how)
        return path


def write_table(rows: Sequence[Row], axes: Sequence[Axis], path: Path) -> None:
    """Write a row for each run as Parquet: its point, its figures, the drawn ones as lists, its error.

    Values of an axis are numbers if all of them are, else text. Figures of a failed run are null.

    Raises:
        OSError: the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, list[Any]] = {}
    for axis in axes:
        as_number = axis.numbers is not None
        columns[axis.name] = [float(row.point[axis.name]) if as_number else row.point[axis.name] for row in rows]
    columns["part"] = [row.part for row in rows]
    columns["error"] = [row.error for row in rows]
    columns["cpu_s"] = [row.cpu_s for row in rows]
    for name in dict.fromkeys(name for row in rows for name in row.figures):
        columns[name] = [row.figures.get(name) for row in rows]
    arrays = {name: pa.array(values) for name, values in columns.items()}
    for metric in METRICS:
        drawn = [row.drawn.get(metric.key) for row in rows]
        arrays[f"drawn_{metric.key}"] = pa.array(drawn, pa.list_(pa.float64()))
    pq.write_table(pa.table(arrays), path)
