"""The cluster's licences, which are allocated to jobs with their nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from rota.core.limits.start_limits import Excess, Limit
from rota.model import Errno, Reason, RequestError
from rota.model.licenses import parse_licenses

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.model import ClusterConfig


class LicensesWanted:
    """The start limit of jobs that request licences: they are held back while too few are free."""

    __slots__ = ("__weakref__", "_pool", "counts")

    def __init__(self, pool: LicensePool, counts: Mapping[str, int]) -> None:
        self._pool = pool
        #: Number of licences by name.
        self.counts = counts

    def holds_back_all(self) -> bool:
        """Whether too few are free."""
        return self._too_few() is not None

    def holds_back(self, job: object, resources: int) -> Excess | None:  # noqa: ARG002 - whatever its nodes
        """Give the licence of which too few are free; ``None``: there is none."""
        name = self._too_few()
        if name is None:
            return None
        limit = Limit(Reason.LICENSES, "cluster", f"Licenses={name}", self._pool.total.get(name, 0))
        return Excess(limit, self._pool.used.get(name, 0), self.counts[name])

    def _too_few(self) -> str | None:
        """Give the name of the first licence of which too few are free."""
        total, used = self._pool.total, self._pool.used
        for name, count in self.counts.items():
            if used.get(name, 0) + count > total.get(name, 0):
                return name
        return None

    def started(self, job: object) -> None:  # noqa: ARG002 - they are all the same
        """Allocate a job's licences."""
        for name, count in self.counts.items():
            self._pool.used[name] = self._pool.used.get(name, 0) + count

    def ended(self, job: object) -> None:  # noqa: ARG002 - they are all the same
        """Free a job's licences."""
        for name, count in self.counts.items():
            self._pool.used[name] -= count


class LicensePool:
    """The licences of the cluster: how many there are, and how many are in use.

    Args:
        config: The configuration (slurm.conf).

    Raises:
        InputError: ``Licenses`` of slurm.conf cannot be used.
    """

    def __init__(self, config: ClusterConfig) -> None:
        #: Number of licences, and number in use, by name.
        self.total: dict[str, int] = {}
        self.used: dict[str, int] = {}
        #: Start limits by the text of the request, as long as a job uses them.
        self._wanted: WeakValueDictionary[str, LicensesWanted] = WeakValueDictionary()
        self.set_config(config)

    def set_config(self, config: ClusterConfig) -> None:
        """Read the numbers of licences; those in use are not changed."""
        self.total = read_licenses(config)

    def check(self, text: str) -> None:
        """Check that the cluster has the requested licences.

        Raises:
            RequestError: it has too few, or the syntax is wrong.
        """
        try:
            counts = parse_licenses(text)
        except ValueError as error:
            raise RequestError(str(error), Errno.INVALID_LICENSES) from None
        for name, count in counts.items():
            if count > self.total.get(name, -1):
                there_are = ", ".join(f"{name}:{count}" for name, count in self.total.items()) or "none"
                raise RequestError(
                    f"Invalid license specification: {name}:{count} requested, there are {there_are}",
                    Errno.INVALID_LICENSES,
                )

    def wanted(self, text: str) -> LicensesWanted:
        """Give the start limit of jobs with some requested licences, which were checked before."""
        wanted = self._wanted.get(text)
        if wanted is None:
            wanted = self._wanted[text] = LicensesWanted(self, parse_licenses(text))
        return wanted


def read_licenses(config: ClusterConfig) -> dict[str, int]:
    """Read ``Licenses`` of slurm.conf.

    Raises:
        InputError: it cannot be used.
    """
    try:
        return parse_licenses(config.get("Licenses"))
    except ValueError as error:
        raise config.error("Licenses", str(error)) from None
