"""A collector, its store, and what is known of jobs, together: what is served."""

from __future__ import annotations

import sqlite3
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from rota import __version__
from rota.interfaces.jobmeta import USUAL_FIELDS
from rota.lustre.collector import Collector
from rota.lustre.grouping import JOB as JOB_FIELDS
from rota.lustre.grouping import PLACES
from rota.lustre.labels import Labels
from rota.lustre.rollups import Rollups
from rota.lustre.store import ALL, JOB, Reader, Writer, veil_of
from rota.model import InputError
from rota.model.bounds import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from rota.lustre.collector import Feed
    from rota.lustre.counters import Activity
    from rota.lustre.deltas import Deltas
    from rota.lustre.labels import Names
    from rota.lustre.query import Question
    from rota.lustre.store import Look, Tier, Written


class Service:
    """What is served.

    Args:
        folder: Directory of the store.
        tiers: What is kept of what.
        feeds: The sources.
        names: Knows jobs.
        clock: Gives Unix seconds.
        report: Takes a line for the administrator.
        deltas: What the sources count with; it goes on where the store has it. ``None``: they begin anew.
        pseudonyms: Fields of jobs that are shown as pseudonyms: see `rota.lustre.store.veil`.

    Raises:
        InputError: the store cannot be used, or there is no such field.
    """

    def __init__(
        self,
        folder: Path,
        tiers: Sequence[Tier],
        feeds: Sequence[Feed],
        names: Names,
        *,
        clock: Callable[[], float],
        report: Callable[[str], object],
        deltas: Deltas | None = None,
        pseudonyms: Collection[str] = (),
    ) -> None:
        if unknown := set(pseudonyms) - {ALL, JOB, *names.fields()}:
            known = ", ".join((ALL, JOB, *names.fields()))
            raise InputError(f"{min(unknown)} is none of {known}", field="--pseudonyms")
        self._folder = folder
        self._tiers = tiers
        self._names = names
        self._clock = clock
        self._report = report
        self._writer = Writer(folder, tiers)
        if deltas is not None:
            deltas.restore(self._writer.remembered(), clock())
        self._labels = Labels(names, self._writer.label)
        self._collector = Collector(feeds, self._writer, tiers[0].step, clock=clock, written=self._take, report=report)
        #: Looks at the store, for any thread.
        self.reader = Reader(folder, veil_of(folder, pseudonyms) if pseudonyms else None)
        #: Sums since the service began.
        self.rollups = Rollups()
        #: Until when all is there that was read in time, Unix seconds.
        self.until = self._until()
        #: Whether it is about to end.
        self.is_ending = False

    def start(self) -> None:
        """Begin to read."""
        self._collector.start()

    def end_streams(self) -> None:
        """Have those end who tell of it without end."""
        self.is_ending = True

    def stop(self) -> None:
        """End. What was read is written."""
        self._collector.stop()
        self._writer.close()

    def now(self) -> float:
        """Tell the time by the collector's clock, Unix seconds."""
        return self._clock()

    def fields(self) -> tuple[str, ...]:
        """Name what may be known of jobs."""
        return self._names.fields()

    def require_fields(self, look: Look, question: Question) -> None:
        """Check that there are the fields by which is grouped and filtered: plugins name them, or a job has them.

        Raises:
            InputError: there is none of that name.
        """
        usual = dict.fromkeys([*PLACES, *JOB_FIELDS, *USUAL_FIELDS, *self.fields()])
        for option, names in (("by", filter(None, [question.group])), ("where", question.where)):
            for name in names:
                if name not in usual and not look.values(name, np.arange(look.job_count())).of.any():
                    known = ", ".join([*PLACES, *dict.fromkeys(["job", *self.fields()])])
                    raise InputError(f"there is no field {quoted(name)}; there are {known}", field=option)

    def _until(self) -> int:
        with self.reader.look() as look:
            return look.until

    def status(self) -> dict[str, Any]:
        """Say how it is, as JSON data."""
        with self.reader.look() as look:
            kept = [{**one._asdict(), "keep": tier.keep} for one, tier in zip(look.kept, self._tiers, strict=True)]
        return {
            "version": __version__,
            "now": self._clock(),
            "until": kept[0]["high"],
            "interval": self._tiers[0].step,
            "sources": [asdict(state) for state in self._collector.feeds],
            "writing": asdict(self._collector.writing),
            "store": {"bytes": sum(file.stat().st_size for file in self._folder.iterdir()), "tiers": kept},
            "lookups": dict(self._names.status()),
        }

    def _take(self, activities: Sequence[Activity], written: Written) -> None:
        """Go on with what was written."""
        now = self._clock()
        try:
            self._labels.update({one.job_id for one in activities}, now)
        except sqlite3.Error as error:
            self._report(f"error: what is known of jobs cannot be kept: {error}")
        with self.reader.look() as look:
            self.rollups.update(written, look, now)
            self.until = look.until
