"""What is written: activities into the finest tier, and from there into the others.

An activity belongs to the step at whose end it was read, however long it took: as readings come at the ends of steps,
give or take what reading takes, that is the step that ends nearest to its own end. What comes late is added to all
tiers that are made already, so that every tier has the same sums.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from contextlib import contextmanager
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rota.lustre.counters import Changes
from rota.lustre.store.database import open_to_write
from rota.lustre.store.names import JOBS, OPERATIONS, TARGETS, Codes, bytes_of
from rota.lustre.store.segment import Segment, add, key_of, pack, segment_of, unpack
from rota.lustre.store.standings import remember, remembered
from rota.lustre.store.tiers import Kept
from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rota.lustre.counters import Activity
    from rota.lustre.store.tiers import Tier

#: What no machine can do in one step, so that it is a defect of a counter; sums of less stay exact.
_DEFECT = 1 << 53
#: The sums over all targets are kept if they are as many times shorter.
_SHORTER = 3
_NO_CHANGES = Changes({}, {})


class Written(NamedTuple):
    """What became of activities."""

    #: By the start of their step. Codes are those of the store.
    steps: Mapping[int, Segment]
    #: Increases that are a defect, or for whose names there is no room.
    dropped: int

    @property
    def rows(self) -> int:
        """How many operations of jobs on targets."""
        return sum(len(one.keys) for one in self.steps.values())


class Writer:
    """The one who writes to a store.

    Args:
        folder: Directory of the store, made if it is not there.
        tiers: What to keep. The steps of a store are for ever those that it was made with.

    Raises:
        InputError: the store cannot be used.
    """

    def __init__(self, folder: Path, tiers: Sequence[Tier]) -> None:
        self._connection = open_to_write(folder)
        self._tiers = tiers
        self._operations = Codes(self._connection, OPERATIONS)
        self._targets = Codes(self._connection, TARGETS)
        self._jobs = Codes(self._connection, JOBS)
        steps = [tier.step for tier in tiers]
        with self._transaction():
            if not self._kept():
                self._connection.executemany("INSERT INTO tiers VALUES (?, 0, 0)", [(step,) for step in steps])
            old = [one.step for one in self._kept()]
        if old != steps:
            self.close()
            raise InputError(f"this store is one of readings every {old[0]} s: keep to that", path=folder)

    def close(self) -> None:
        """End."""
        self._connection.close()

    def remembered(self) -> Changes:
        """Give what counting goes on from."""
        return remembered(self._connection)

    def write(self, activities: Iterable[Activity], now: float, changes: Changes = _NO_CHANGES) -> Written:
        """Keep activities, make the steps that are over, and forget what is too old, in one transaction.

        Args:
            activities: What jobs did.
            now: Unix seconds; an activity that ends later than the step after that counts as if it ended then.
            changes: What is to be remembered with them.

        Raises:
            sqlite3.Error: nothing was written, as when the disk is full; the caller may try again.
        """
        step = self._tiers[0].step
        latest = math.floor(now / step) * step
        by_step: defaultdict[int, list[Activity]] = defaultdict(list)
        for one in activities:
            by_step[min((math.floor(one.end / step + 0.5) - 1) * step, latest)].append(one)
        steps, dropped = {}, 0
        with self._transaction():
            for start, some in sorted(by_step.items()):
                segment, lost = self._segment_of(some, start)
                steps[start] = segment
                dropped += lost
                self._add(start, segment)
            remember(self._connection, changes)
            # Until here all is there that was read in time.
            self._connection.execute("UPDATE tiers SET high = max(high, ?) WHERE step = ?", (latest, step))
            for finer, coarser in pairwise(self._tiers):
                self._roll(finer, coarser, now - step)
                self._forget(finer, coarser, now)
        return Written(steps, dropped)

    def label(self, fields: Mapping[str, Mapping[str, object]]) -> None:
        """Keep what is known of jobs, instead of what was known before; jobs that did nothing are left out.

        Args:
            fields: By job id: names of fields and what they are, as JSON has it.

        Raises:
            sqlite3.Error: nothing was written; the caller may try again.
        """
        with self._transaction():
            (version,) = self._connection.execute("SELECT coalesce(max(version), 0) + 1 FROM labels").fetchone()
            self._connection.executemany(
                "INSERT OR REPLACE INTO labels SELECT code, ?, ? FROM jobs WHERE name = ?",
                [(json.dumps(one), version, bytes_of(job)) for job, one in fields.items()],
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            for codes in (self._operations, self._targets, self._jobs):
                codes.forget()
            raise

    def _segment_of(self, activities: Sequence[Activity], start: int) -> tuple[Segment, int]:
        """Make a segment of the activities of one step, and say how many increases cannot be in it."""
        jobs = self._jobs.of([one.job_id for one in activities], start)
        targets = self._targets.of([one.target for one in activities], start)
        names = chain.from_iterable(one.increases for one in activities)
        operations = self._operations.of(names, start)
        keys, samples, totals, dropped = [], [], [], 0
        for target, job_id, _, _, increases in activities:
            job, on = jobs.get(job_id), targets.get(target)
            for name, (count, total) in increases.items():
                operation = operations.get(name)
                if (
                    job is None
                    or on is None
                    or operation is None
                    or not (0 <= count < _DEFECT and 0 <= total < _DEFECT)
                ):
                    dropped += 1
                    continue
                keys.append(key_of(operation, on, job))
                samples.append(count)
                totals.append(total)
        return segment_of(keys, samples, totals), dropped

    def _kept(self) -> list[Kept]:
        return [Kept(*row) for row in self._connection.execute("SELECT step, low, high FROM tiers ORDER BY step")]

    def _add(self, start: int, segment: Segment) -> None:
        """Add to the finest tier, if it still goes back so far, and to the others that are made already."""
        summary = self._tiers[1].step
        for step, low, high in self._kept():
            begin = start // step * step
            is_finest = step == self._tiers[0].step
            if begin >= low and (is_finest or begin < high):
                self._merge(step, begin, segment)
            if step == summary and begin < high:
                self._summarise([(start, segment)])

    def _merge(self, step: int, begin: int, segment: Segment) -> None:
        for operation, rows in segment.by_operation():
            where = (step, begin, operation)
            select = "SELECT version, data FROM segments WHERE step = ? AND start = ? AND operation = ?"
            version, data = self._connection.execute(select, where).fetchone() or (0, None)
            merged = rows if data is None else add([unpack(data), rows])
            sums = (merged.by_job_and_operation(), merged.by_target_and_operation())
            shorter = [pack(one) if len(one.keys) * _SHORTER <= len(merged.keys) else None for one in sums]
            self._connection.execute(
                "INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET version = ?4, data = ?5, by_job = ?6, by_target = ?7",
                (*where, version + 1, pack(merged), *shorter),
            )

    def _roll(self, finer: Tier, coarser: Tier, until: float) -> None:
        """Make the steps of a tier that are over."""
        state = {one.step: one for one in self._kept()}
        high, step = state[coarser.step].high, coarser.step
        limit = min(state[finer.step].high, math.floor(until)) // step * step
        while True:
            (first,) = self._connection.execute(
                "SELECT min(start) FROM segments WHERE step = ? AND start >= ? AND start < ?", (finer.step, high, limit)
            ).fetchone()
            if first is None:
                break
            begin = first // step * step
            high = begin + step
            for parts in self._parts(finer.step, begin, high):
                self._merge(step, begin, add(segment for _, segment in parts))
                if finer == self._tiers[0]:
                    self._summarise(parts)
        self._connection.execute("UPDATE tiers SET high = max(high, ?) WHERE step = ?", (limit, step))

    def _parts(self, step: int, begin: int, end: int) -> Iterator[list[tuple[int, Segment]]]:
        """Give what is kept of a time, with its starts, one operation after the other."""
        there = "FROM segments WHERE step = ? AND start >= ? AND start < ?"
        where = (step, begin, end)
        for (operation,) in self._connection.execute(f"SELECT DISTINCT operation {there}", where).fetchall():
            found = self._connection.execute(
                f"SELECT start, data {there} AND operation = ? ORDER BY start", (*where, operation)
            )
            yield [(start, unpack(data)) for start, data in found]

    def _summarise(self, parts: Sequence[tuple[int, Segment]]) -> None:
        """Add to the summaries of jobs, and note when they last did something."""
        whole = add(segment.by_job_and_operation() for _, segment in parts)
        self._connection.executemany(
            "INSERT INTO summaries VALUES (?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET samples = samples + excluded.samples, total = total + excluded.total",
            zip(
                *(column.tolist() for column in (whole.jobs, whole.operations, whole.samples, whole.totals)),
                strict=True,
            ),
        )
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for start, segment in parts:
            jobs = np.unique(segment.jobs).tolist()
            first = {**dict.fromkeys(jobs, start), **first}
            last.update(dict.fromkeys(jobs, start + self._tiers[0].step))
        self._connection.executemany(
            "UPDATE jobs SET first = min(first, ?), last = max(last, ?) WHERE code = ?",
            [(first[job], last[job], job) for job in last],
        )

    def _forget(self, finer: Tier, coarser: Tier, now: float) -> None:
        """Forget what of a tier is too old, in whole steps of the one after it, and not before these are made."""
        if finer.keep is None:
            return
        low = math.floor(now - finer.keep) // coarser.step * coarser.step
        (high,) = self._connection.execute("SELECT high FROM tiers WHERE step = ?", (coarser.step,)).fetchone()
        low = max(min(low, high), 0)
        self._connection.execute("DELETE FROM segments WHERE step = ? AND start < ?", (finer.step, low))
        self._connection.execute("UPDATE tiers SET low = max(low, ?) WHERE step = ?", (low, finer.step))
