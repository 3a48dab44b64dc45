"""What is known of jobs, kept beside what they did: schedulers forget their jobs, and a store does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

#: Seconds after its last activity for which a job that is not known is asked about; and answers that are remembered.
_PATIENCE, _REMEMBERED = 3600.0, 200_000


class Answers(Protocol):
    """What is known of jobs."""

    @property
    def jobs(self) -> Mapping[str, Mapping[str, Any]]:
        """By job id: names of fields and what they are."""


class Names(Protocol):
    """Knows jobs: `rota.jobmeta.Lookups`, as far as it is needed here."""

    def known(self, ids: Iterable[str], /) -> Answers:
        """Give at once what is known of jobs, and find out about the others meanwhile."""

    def fields(self) -> tuple[str, ...]:
        """Name the fields."""

    def status(self) -> Mapping[str, Any]:
        """Say how it is, as JSON data."""


class Labels:
    """Keeps what is known of jobs in a store.

    Args:
        names: Knows jobs.
        keep: Keeps what is known.
    """

    def __init__(self, names: Names, keep: Callable[[Mapping[str, Mapping[str, Any]]], object]) -> None:
        self._names = names
        self._keep = keep
        self._kept: dict[str, Mapping[str, Any]] = {}
        #: When jobs that are not known did something last.
        self._open: dict[str, float] = {}

    def update(self, active: Iterable[str], now: float) -> None:
        """Ask about jobs that do something, and about others of which nothing was known, and keep what is new.

        Args:
            active: Ids of jobs.
            now: Unix seconds.

        Raises:
            sqlite3.Error: it cannot be kept; the next time it is tried again.
        """
        self._open.update(dict.fromkeys(active, now))
        found = self._names.known(self._open).jobs
        new = {job: fields for job, fields in found.items() if self._kept.get(job) != fields}
        if new:
            self._keep(new)
        if len(self._kept) > _REMEMBERED:
            self._kept.clear()
        self._kept.update(new)
        self._open = {job: last for job, last in self._open.items() if job not in found and now - last < _PATIENCE}
