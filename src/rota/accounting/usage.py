"""What associations and QOS have used: decayed, for all of them at once.

Usage is a matrix with a row for each association or QOS. Its columns are billable TRES seconds, the seconds during
which jobs ran (``grp_used_wall``), and seconds of each TRES.

Every period all rows are multiplied by df^Δ, df = 1 − 0.693/half-life, and a job that has run for δ seconds of it adds
δ·df^δ of what it is charged a second, to its association, to every account above and to its QOS. What a job adds in a
whole period is the same in each: so a period costs O(associations · TRES), whatever runs and however many jobs have
ended. When a job ends it adds the rest, once.

Source of the rules: Slurm's multifactor page and its priority plugin's behaviour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rota.accounting.tree import AssociationTree

#: ln 2 as Slurm has it.
LN_2 = 0.693
#: What a decay factor is at least: the smallest normal double.
_LEAST = 2.2250738585072014e-308
_BILLABLE, _WALL, _TRES = 0, 1, 2
#: Changes when older data can no longer be read.
FORMAT = "rota-usage-1"


class _Run(NamedTuple):
    """What a running job is charged, and where."""

    associations: NDArray[np.int64]
    qos: NDArray[np.int64]
    #: A second, in the columns of the matrix.
    charge: NDArray[np.float64]
    start_time: int


class _Counters:
    """One matrix of usage, with what its running jobs add to each row a second."""

    __slots__ = ("_count", "rate", "values")

    def __init__(self, columns: int) -> None:
        self.values = np.zeros((0, columns))
        self.rate = np.zeros((0, columns))
        #: Running jobs by row: where there are none the rate is exactly 0 again.
        self._count = np.zeros(0, np.int64)

    def grow(self, rows: int) -> None:
        """Add rows of nothing until there are so many."""
        more = rows - len(self.values)
        if more > 0:
            self.values, self.rate = (
                np.concatenate((matrix, np.zeros((more, matrix.shape[1])))) for matrix in (self.values, self.rate)
            )
            self._count = np.concatenate((self._count, np.zeros(more, np.int64)))

    def begin(self, rows: NDArray[np.int64], charge: NDArray[np.float64]) -> None:
        """Charge these rows from now on."""
        self.rate[rows] += charge
        self._count[rows] += 1

    def end(self, rows: NDArray[np.int64], charge: NDArray[np.float64]) -> None:
        """Charge them no more."""
        self.rate[rows] -= charge
        self._count[rows] -= 1
        self.rate[rows[self._count[rows] == 0]] = 0.0


class Usage:
    """The usage of one tree's associations and QOS.

    The engine says when jobs start and end, the priority plugin when a period is over.

    Args:
        tree: The associations; more may be added to it.
        tres: Names of the cluster's TRES.
    """

    def __init__(self, tree: AssociationTree, tres: Sequence[str]) -> None:
        self._tree = tree
        self.tres = tuple(tres)
        #: Multiplies usage every second; 1: nothing fades.
        self.decay = 1.0
        #: When usage was last brought up to date, Unix seconds; ``None``: never yet.
        self.last_ran: int | None = None
        #: When usage was last set to zero, Unix seconds; 0: never.
        self.last_reset = 0
        columns = _TRES + len(self.tres)
        self._associations = _Counters(columns)
        self._qos = _Counters(columns)
        self._qos_row = {name: row for row, name in enumerate(tree.qos)}
        self._qos.grow(len(self._qos_row))
        self._fades = np.array([[one.decays] for one in tree.qos.values()], bool).reshape(-1, 1)
        self._associations.grow(len(tree))
        #: Running jobs by id.
        self._runs: dict[int, _Run] = {}
        #: Those of them that are not yet part of the rates: they began within this period.
        self._fresh: set[int] = set()

    @property
    def raw(self) -> NDArray[np.float64]:
        """Billable TRES seconds of each association, by row. Do not write to it."""
        self._associations.grow(len(self._tree))
        raw: NDArray[np.float64] = self._associations.values[:, _BILLABLE]
        return raw

    @property
    def wall(self) -> NDArray[np.float64]:
        """Seconds during which jobs ran, of each association, by row."""
        self._associations.grow(len(self._tree))
        wall: NDArray[np.float64] = self._associations.values[:, _WALL]
        return wall

    @property
    def tres_raw(self) -> NDArray[np.float64]:
        """Seconds of each TRES, a row an association."""
        self._associations.grow(len(self._tree))
        return self._associations.values[:, _TRES:]

    def qos_raw(self, name: str) -> float:
        """Give billable TRES seconds of a QOS, 0 of one that is not known."""
        row = self._qos_row.get(name)
        return 0.0 if row is None else float(self._qos.values[row, _BILLABLE])

    def qos_used(self, name: str, tres: int) -> float:
        """Give the seconds that a QOS has had of a TRES, by its place, or with -1 those that its jobs ran."""
        row = self._qos_row.get(name)
        return 0.0 if row is None else float(self._qos.values[row, _TRES + tres])

    def set_half_life(self, seconds: int) -> None:
        """Set how fast usage fades; 0: not at all."""
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
        """Charge a job from ``start_time`` on.

        Args:
            job_id: The job.
            row: Of its association.
            billable: Billable TRES that it is charged.
            tres: Counts of what it has been given, in the order of the TRES.
            start_time: Unix seconds.
            qos: Names of its QOS and of its partition's.
            usage_factor: Multiplies everything.
        """
        charge = np.array((billable, 1.0, *tres)) * usage_factor
        rows = np.array(sorted({self._qos_row[name] for name in qos if name in self._qos_row}), np.int64)
        self._runs[job_id] = _Run(self._tree.path(row), rows, charge, start_time)
        self._fresh.add(job_id)

    def job_ended(self, job_id: int, end_time: int) -> None:
        """Add what a job has used since the last period; the rest was added as it ran."""
        run = self._runs.pop(job_id, None)
        if run is None:
            return
        self._associations.grow(len(self._tree))
        if job_id in self._fresh:
            self._fresh.remove(job_id)
        else:
            self._associations.end(run.associations, run.charge)
            self._qos.end(run.qos, run.charge)
        self._charge(run, end_time)

    def _charge(self, run: _Run, until: int) -> None:
        begun = run.start_time if self.last_ran is None else max(run.start_time, self.last_ran)
        seconds = until - begun
        if seconds > 0:
            used = run.charge * (seconds * self.decay**seconds)
            self._associations.values[run.associations] += used
            self._qos.values[run.qos] += used

    def save_running(self) -> dict[str, Any]:
        """Give how what runs is counted, as data that JSON can hold."""
        rates = zip(self._tree.associations, self._associations.rate.tolist(), strict=False)
        return {
            "counted": sorted(self._runs.keys() - self._fresh),
            "rates": [[one.account, one.user, one.partition, *rate] for one, rate in rates if any(rate)],
            "qos_rates": {name: self._qos.rate[row].tolist() for name, row in self._qos_row.items()},
        }

    def restore_running(self, running: Mapping[str, Any]) -> None:
        """Go on counting the jobs that run, to the last bit, if they are charged as they were.

        Args:
            running: What was saved. All jobs have been started anew.
        """
        counted = self._fresh.intersection(running["counted"])
        for job_id in sorted(counted):
            run = self._runs[job_id]
            self._associations.begin(run.associations, run.charge)
            self._qos.begin(run.qos, run.charge)
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
        """Bring usage up to ``now`` (Unix seconds): let it fade and add what running jobs have used since.

        The first time nothing fades. A time that is not later than the last changes nothing.
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
            self._associations.begin(run.associations, run.charge)
            self._qos.begin(run.qos, run.charge)
        self._fresh.clear()
        self.last_ran = now

    def reset(self, now: int) -> None:
        """Set all usage to zero."""
        self._associations.values[:] = 0.0
        self._qos.values[:] = 0.0
        self.last_reset = now

    # ---- keeping it -------------------------------------------------------------------------------------------

    def save(self) -> dict[str, Any]:
        """Give the usage as data that JSON can hold: what has been used, not what runs."""
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
            ],
            "qos": [{"name": name, **_saved(self._qos.values[row].tolist())} for name, row in self._qos_row.items()],
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take up saved usage. Associations and QOS that are no more are left out, TRES that are new have none.

        Raises:
            InputError: it is of another version or of another cluster, or not what `save` gives.
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
    """Take rates over that are the same but for rounding: added up in another order."""
    if len(rate) == rates.shape[1] and np.allclose(rates[row], rate, rtol=1e-9, atol=1e-9):
        rates[row] = rate


def _saved(values: Sequence[float]) -> dict[str, Any]:
    return {"usage_raw": values[_BILLABLE], "grp_used_wall": values[_WALL], "usage_tres_raw": list(values[_TRES:])}


def _loaded(one: Mapping[str, Any], order: Sequence[int], key: str) -> list[float]:
    values = [one["usage_raw"], one["grp_used_wall"], *one["usage_tres_raw"]]
    if not all(isinstance(value, int | float) and 0 <= value < float("inf") for value in values):
        raise InputError("usage is a number of at least 0", field=key)
    return [values[index] if index >= 0 else 0.0 for index in order]
