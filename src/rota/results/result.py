"""A result as people use it in Python: figures, tables, pages, and the comparison with other results."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rota.model.counts import counted
from rota.results.notebook import html_table, load_pandas
from rota.results.report import wording
from rota.results.schedule import ReplayResult

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    import pyarrow as pa

    from rota.results.side_by_side import Comparison
    from rota.workload import Workload


class Result(ReplayResult):
    """The result of a replay: `schedule` has a row for each job, `summary` the figures."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Name workload and policy, and give the most important figures."""
        one = self.summary
        told = [
            f"{self.workload}, {wording.policy(self)}: {one.jobs:,} jobs",
            f"mean wait {wording.duration(one.mean_wait_s)}",
            f"mean bounded slowdown {one.mean_bounded_slowdown:,.2f}",
            f"utilisation {one.utilisation:.2%}",
        ]
        return f"<Result {', '.join(told)}>"

    def _repr_html_(self) -> str:
        """Give the figures as a table, for notebooks."""
        return html_table([], self.figures())

    @classmethod
    def read(cls, folder: str | Path) -> Self:
        """Read a folder that `save` or ``rota replay --out`` wrote.

        Raises:
            InputError: it is no such folder, or one of its files is missing or damaged.
        """
        from rota.results.store import read_result

        stored = read_result(Path(folder))
        return cls(**{one.name: getattr(stored, one.name) for one in fields(stored)})

    def save(self, folder: str | Path, workload: Workload | None = None) -> Path:
        """Write a folder with the page, the jobs and the figures, see `rota.results.store`; an old result is replaced.

        Args:
            folder: The folder. Missing parents are created.
            workload: The workload; with it the schedule is written as SWF and as a file of sacct too.

        Raises:
            InputError: the folder cannot be written, or contains anything that is not a result.
        """
        from rota.results.export import scheduled_workload
        from rota.results.report.calibration import write_calibration
        from rota.results.sacct_file import write_sacct
        from rota.results.store import write_result
        from rota.workload import write_swf

        more: dict[str, Callable[[Path], None]] = {}
        if workload is not None:
            more["schedule.swf.gz"] = partial(write_swf, scheduled_workload(workload, self))
            if self.schedule.compared.any():
                more["calibration.html"] = partial(write_calibration, self, workload)
            more["sacct.txt.gz"] = partial(write_sacct, self.schedule, workload)
        write_result(self, Path(folder), more=more)
        return Path(folder)

    def report(self, path: str | Path) -> Path:
        """Write the page, one file that needs no network; give its path.

        Raises:
            OSError: it cannot be written.
        """
        from rota.results.report import write_report

        write_report(self, Path(path))
        return Path(path)

    def to_arrow(self) -> pa.Table:
        """Give the jobs as an Arrow table, a row for each, with the columns of ``jobs.parquet``."""
        from rota.results.parquet import jobs_table

        return jobs_table(self.schedule)

    def to_pandas(self) -> pd.DataFrame:
        """Give the jobs as a data frame with the columns of ``jobs.parquet``, by ``job_id``.

        Whole numbers are of pandas' type ``Int64``, as ``start`` and ``end`` may be missing.

        Raises:
            InputError: pandas is not installed.
        """
        pandas = load_pandas()
        import pyarrow as pa

        types: Any = {pa.int64(): pandas.Int64Dtype()}
        return self.to_arrow().to_pandas(types_mapper=types.get).set_index("job_id")

    def compare(self, *others: ReplayResult) -> Comparison:
        """Put results of the same workload side by side; the others are measured against this one.

        Raises:
            InputError: there is no other, or one is of another workload.
        """
        from rota.results.side_by_side import compare

        return compare(self, *others)

    def figures(self) -> list[tuple[str, str]]:
        """Give the figures as ``rota replay`` prints them: label and text of each."""
        one, submitted = self.summary, len(self.schedule)
        rows = [
            ("workload", f"{self.workload}, {counted(self.machine_procs, 'one processor', '{} processors')}"),
            ("policy", " ".join(part for part in (self.scheduler, self.priority, self.options) if part)),
            ("jobs", f"{one.jobs:,}" + (f" of {submitted:,}" if one.jobs != submitted else "")),
            ("mean wait", f"{one.mean_wait_s:,.0f} s"),
            ("longest wait", f"{one.max_wait_s:,} s"),
            ("mean bounded slowdown", f"{one.mean_bounded_slowdown:,.2f}"),
            ("makespan", f"{one.makespan_s:,} s ({one.makespan_s / 86400:,.1f} days)"),
            ("utilisation", f"{one.utilisation:.2%}"),
            ("events, passes", f"{one.events:,}, {one.passes:,}"),
            ("took", f"{one.wall_s:.2f} s, {one.us_per_job:.1f} µs a job"),
        ]
        recorded, both = self.schedule.recorded_wait, self.schedule.compared
        if recorded is not None and both.any():
            then, now = (float(waits[both].mean()) for waits in (recorded, self.schedule.wait))
            of = counted(int(both.sum()), "one job", "{} jobs")
            rows[4:4] = [("  as recorded", f"{then:,.0f} s, here {now:,.0f} s, of {of}")]
        counts = [("refused", one.refused), ("not run to an end", one.unfinished)]
        rows[3:3] = [(name, f"{count:,}") for name, count in counts if count]
        return rows + [("plugin fault", f"{function}, {count:,} times") for function, count in one.faults.items()]
