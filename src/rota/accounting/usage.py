"""Decayed usage of all associations and QOS.

Usage is a matrix with a row for each association or QOS. Its columns are billable TRES seconds, wall clock seconds of
jobs (``grp_used_wall``), and seconds of each TRES.

Every period all rows are multiplied by df^Δ, where df = 1 − 0.693/half-life. A job that has run for δ seconds of the
period adds δ·df^δ times its charge rate to its association, all accounts above it, and its QOS. What a job adds in a
whole period is the same in each, so a period costs O(associations · TRES), independent of the number of jobs. When a
job ends, the rest of its usage is added.

Source of the rules: Slurm's multifactor page and the behaviour of its priority plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rota.accounting.tree import AssociationTree

#: ln 2, rounded as in Slurm.
LN_2 = 0.693
#: Smallest decay factor: the smallest normal double.
_LEAST = 2.2250738585072014e-308
_BILLABLE, _WALL, _TRES = 0, 1, 2
#: Format of saved usage; to be changed when older data can no longer be read.
FORMAT = "rota-usage-1"


class _Run(NamedTuple):
    """A running job that is charged."""

    associations: NDArray[np.int64]
    qos: NDArray[np.int64]
    #: Charge for each second, in the columns of the matrix.
    charge: NDArray[np.float64]
    start_time: int

    def is_charged_as(self, other: _Run) -> bool:
        """Whether another one adds as much to the same rows."""
        return all(map(np.array_equal, self[:3], other[:3]))


class _Counters:
    """A matrix of usage, with the rate at which running jobs add to each row."""

    __slots__ = ("_count", "rate", "values")

    def __init__(self, columns: int) -> None:
        self.values = np.zeros((0, columns))
        self.rate = np.zeros((0, columns))
        #: Number of running jobs by row. The rate of a row without running jobs is set to exactly 0.
        self._count = np.zeros(0, np.int64)

    def grow(self, rows: int) -> None:
        """Add rows of zeros up to a number of rows."""
        more = rows - len(self.values)
        if more > 0:
            self.values, self.rate = (
                np.concatenate((matrix, np.zeros((more, matrix.shape[1])))) for matrix in (self.values, self.rate)
            )
            self._count = np.concatenate((self._count, np.zeros(more, np.int64)))

    def forget_rates(self) -> None:
        """Charge nothing any more."""
        self.rate[:] = 0.0
        self._count[:] = 0

    def begin(self, rows: NDArray[np.int64], charge: NDArray[np.float64]) -> None:
        """Begin to charge rows."""
        self.rate[rows] += charge
        self._count[rows] += 1

    def end(self, rows: NDArray[np.int64], charge: NDArray[np.float64]) -> None:
        """Cease to charge rows."""
        self.rate[rows] -= charge
        self._count[rows] -= 1
        self.rate[rows[self._count[rows] == 0]] = 0.0


class Usage:
    """The usage of the associations and QOS of a tree.

    The engine reports starts and ends of jobs; the priority plugin ends the periods.

    Args:
        tree: The associations. Associations that are added to it later are charged as well.
        tres: Names of the cluster's TRES.
    """

    def __init__(self, tree: AssociationTree, tres: Sequence[str]) -> None:
        self._tree = tree
        self.tres = tuple(tres)
        #: Factor by which usage decays every second; 1: no decay.
        self.decay = 1.0
        #: When usage was last updated, Unix seconds; ``None``: never.
        self.last_ran: int | None = None
        #: When usage was last reset to zero, Unix seconds; 0: never.
        self.last_reset = 0
        columns = _TRES + len(self.tres)
        self._associations = _Counters(columns)
        self._qos = _Counters(columns)
        self._qos_row: dict[str, int] = {}
        self.qos_changed()
        self._associations.grow(len(tree))
        #: Running jobs by id.
        self._runs: dict[int, _Run] = {}
        #: Ids of the jobs that began in this period and are not yet part of the rates.
        self._fresh: set[int] = set()

    def qos_changed(self) -> None:
        """Take up QOS that were added to the tree, and forget those that were removed from it."""
        qos = self._tree.qos
        self._qos_row = {name: row for name, row in self._qos_row.items() if name in qos}
        for name in qos:
            if name not in self._qos_row:
                self._qos_row[name] = len(self._qos.values)
                self._qos.grow(len(self._qos.values) + 1)
        self._fades = np.ones((len(self._qos.values), 1), bool)
        for name, row in self._qos_row.items():
            self._fades[row] = qos[name].decays

    def moved(self, above: NDArray[np.int64]) -> None:
        """Count usage for the accounts that are above it now.

        Args:
            above: Row of the account above each association, by row, as it was.
        """
        tree = self._tree
        self._associations.grow(len(tree))
        values = self._associations.values
        own = values.copy()
        known = np.flatnonzero(above >= 0)
        np.subtract.at(own, above[known], values[known])
        values[:] = 0.0
        for row in range(len(tree)):
            values[tree.path(row)] += np.maximum(own[row], 0.0)
        self._associations.forget_rates()
        for job_id in sorted(self._runs):
            run = self._runs[job_id]
            self._runs[job_id] = run = run._replace(associations=tree.path(int(run.associations[0])))
            if job_id not in self._fresh:
                self._associations.begin(run.associations, run.charge)

    @property
    def raw(self) -> NDArray[np.float64]:
        """Billable TRES seconds of each association, by row; not to be modified."""
        self._associations.grow(len(self._tree))
        raw: NDArray[np.float64] = self._associations.values[:, _BILLABLE]
        raw.flags.writeable = False  # plugins get it as well
        return raw

    @property
    def wall(self) -> NDArray[np.float64]:
        """Wall clock seconds of the jobs of each association, by row."""
        self._associations.grow(len(self._tree))
        wall: NDArray[np.float64] = self._associations.values[:, _WALL]
        wall.flags.writeable = False
        return wall

    @property
    def tres_raw(self) -> NDArray[np.float64]:
        """Seconds of each TRES, one row for each association."""
        self._associations.grow(len(self._tree))
        tres_raw: NDArray[np.float64] = self._associations.values[:, _TRES:]
        tres_raw.flags.writeable = False
        return tres_raw

    def qos_raw(self, name: str) -> float:
        """Give the billable TRES seconds of a QOS; 0 if it is unknown."""
        row = self._qos_row.get(name)
        return 0.0 if row is None else float(self._qos.values[row, _BILLABLE])

    def qos_used(self, name: str, tres: int) -> float:
        """Give a QOS's seconds of a TRES by the TRES's index or, for -1, the wall clock seconds of its jobs."""
        row = self._qos_row.get(name)
        return 0.0 if row is None else float(self._qos.values[row, _TRES + tres])

    def set_half_life(self, seconds: int) -> None:
        """Set the half-life of usage; 0: no decay."""
        self.decay = 1 - LN_2 / seconds if seconds else 1.0

    # ---- jobs -------------------------------------------------------------------------------------------------

    def job_started(
        self,
        job_id: int,
        row: int,
        *,
        billable: float,
        tres: Sequence[float],
        start_time: int,
        qos: Sequence[str] = (),
        usage_factor: float = 1.0,
    ) -> None:
        """Charge a job from its start on; one that is charged already, anew from the last update on.

        Args:
            job_id: Job id.
            row: Row of the job's association.
            billable: Billable TRES of the job.
            tres: Counts of allocated TRES, in the cluster's order.
            start_time: When charging begins, Unix seconds.
            qos: Names of the job's QOS and of its partition's QOS.
            usage_factor: Factor by which all its usage is multiplied.
        """
        charge = np.array((billable, 1.0, *tres)) * usage_factor
        rows = np.array(sorted({self._qos_row[name] for name in qos if name in self._qos_row}), np.int64)
        old, run = self._runs.get(job_id), _Run(self._tree.path(row), rows, charge, start_time)
        self._runs[job_id] = run
        if old is None:
            self._fresh.add(job_id)
        elif job_id not in self._fresh and not run.is_charged_as(old):
            self._end(old)
            self._begin(run)

    def job_ended(self, job_id: int, end_time: int) -> None:
        """Charge a job up to its end and forget it."""
        run = self._runs.pop(job_id, None)
        if run is None:
            return
        self._associations.grow(len(self._tree))
        if job_id in self._fresh:
            self._fresh.remove(job_id)
        else:
            self._end(run)
        self._charge(run, end_time)

    def _begin(self, run: _Run) -> None:
        self._associations.begin(run.associations, run.charge)
        self._qos.begin(run.qos, run.charge)

    def _end(self, run: _Run) -> None:
        self._associations.end(run.associations, run.charge)
        self._qos.end(run.qos, run.charge)

    def _charge(self, run: _Run, until: int) -> None:
        begun = run.start_time if self.last_ran is None else max(run.start_time, self.last_ran)
        seconds = until - begun
        if seconds > 0:
            used = run.charge * (seconds * self.decay**seconds)
            self._associations.values[run.associations] += used
            self._qos.values[run.qos] += used

    def save_running(self) -> dict[str, Any]:
        """Give the state of charging of all running jobs, as JSON data."""
        rates = zip(self._tree.associations, self._associations.rate.tolist(), strict=False)
        return {
            "counted": sorted(self._runs.keys() - self._fresh),
            "rates": [[one.account, one.user, one.partition, *rate] for one, rate in rates if any(rate)],
            "qos_rates": {name: self._qos.rate[row].tolist() for name, row in self._qos_row.items()},
        }

    def restore_running(self, running: Mapping[str, Any]) -> None:
        """Restore the state of charging of running jobs, bit by bit, where their charges are the same.

        Args:
            running: The saved state. `job_started` has been called for all running jobs.
        """
        counted = self._fresh.intersection(running["counted"])
        for job_id in sorted(counted):
            self._begin(self._runs[job_id])
        self._fresh -= counted
        for account, user, partition, *rate in running["rates"]:
            one = self._tree.find(user, account, partition)
            if one is not None and one.partition == partition:
                _refine(self._associations.rate, self._tree.row(one), rate)
        for name, rate in running["qos_rates"].items():
            if name in self._qos_row:
                _refine(self._qos.rate, self._qos_row[name], rate)

    # ---- periods ----------------------------------------------------------------------------------------------

    def advance(self, now: int) -> None:
        """Update usage to a time: apply decay, and add the usage of running jobs since the last update.

        The first update applies no decay. A time that is not later than the last changes nothing.
        """
        self._associations.grow(len(self._tree))
        last = self.last_ran
        if last is not None and now <= last:
            return
        if last is not None:
            factor = max(self.decay ** (now - last), _LEAST)
            charged = (now - last) * factor
            self._associations.values *= factor
            self._associations.values += self._associations.rate * charged
            self._qos.values *= np.where(self._fades, factor, 1.0)
            self._qos.values += self._qos.rate * charged
        for job_id in sorted(self._fresh):
            run = self._runs[job_id]
            self._charge(run, now)
            self._begin(run)
        self._fresh.clear()
        self.last_ran = now

    def reset(self, now: int) -> None:
        """Reset all usage to zero."""
        self._associations.values[:] = 0.0
        self._qos.values[:] = 0.0
        self.last_reset = now

    # ---- keeping it -------------------------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        """Give the usage as JSON data, without the state of charging of running jobs."""
        self._associations.grow(len(self._tree))
        return {
            "format": FORMAT,
            "cluster": self._tree.cluster,
            "last_ran": self.last_ran,
            "last_reset": self.last_reset,
            "tres": list(self.tres),
            "associations": [
                {"account": one.account, "user": one.user, "partition": one.partition, **_saved(values)}
                for one, values in zip(self._tree.associations, self._associations.values.tolist(), strict=True)
                if one.account
            ],
            "qos": [{"name": name, **_saved(self._qos.values[row].tolist())} for name, row in self._qos_row.items()],
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore saved usage. Rows of unknown associations and QOS are ignored, TRES that are not saved are 0.

        Raises:
            InputError: the data is of another version or cluster, or was not made by `save`.
        """
        if saved.get("format") != FORMAT:
            raise InputError(f"{saved.get('format')!r} is not {FORMAT}: rota did not save this usage", field="format")
        if saved.get("cluster") != self._tree.cluster:
            raise InputError(
                f"the usage is of cluster {saved.get('cluster')!r}, not of {self._tree.cluster!r}", field="cluster"
            )
        self._associations.grow(len(self._tree))
        try:
            self._take_up(saved)
        except (LookupError, TypeError) as error:
            raise InputError(
                f"this is not what rota saves ({error!r}): leave it out, and all begin with no usage", field="usage"
            ) from None

    def _take_up(self, saved: Mapping[str, Any]) -> None:
        column = {name: _TRES + index for index, name in enumerate(saved["tres"])}
        order = [_BILLABLE, _WALL, *(column.get(name, -1) for name in self.tres)]
        for one in saved["associations"]:
            found = self._tree.find(one["user"], one["account"], one["partition"])
            if found is not None and found.partition == one["partition"]:
                self._associations.values[self._tree.row(found)] = _loaded(one, order, "associations")
        for one in saved["qos"]:
            if one["name"] in self._qos_row:
                self._qos.values[self._qos_row[one["name"]]] = _loaded(one, order, "qos")
        self.last_ran, self.last_reset = saved["last_ran"], saved["last_reset"]


def _refine(rates: NDArray[np.float64], row: int, rate: Sequence[float]) -> None:
    """Take over a rate if it differs from the current one by rounding only."""
    if len(rate) == rates.shape[1] and np.allclose(rates[row], rate, rtol=1e-9, atol=1e-9):
        rates[row] = rate


def _saved(values: Sequence[float]) -> dict[str, Any]:
    return {"usage_raw": values[_BILLABLE], "grp_used_wall": values[_WALL], "usage_tres_raw": list(values[_TRES:])}


def _loaded(one: Mapping[str, Any], order: Sequence[int], key: str) -> list[float]:
    values = [one["usage_raw"], one["grp_used_wall"], *one["usage_tres_raw"]]
    if not all(isinstance(value, int | float) and 0 <= value < float("inf") for value in values):
        raise InputError("usage is a number of at least 0", field=key)
    return [values[index] if index >= 0 else 0.0 for index in order]
