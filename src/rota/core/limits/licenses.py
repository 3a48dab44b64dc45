"""The cluster's licences: counted, and given to jobs with their nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.core.limits.start_limits import Excess, Limit
from rota.model import Errno, Reason, RequestError
from rota.model.licenses import parse_licenses

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.model import ClusterConfig, Job


class LicensesWanted:
    """What holds back the jobs that ask for the same licences."""

    __slots__ = ("_pool", "counts")

    def __init__(self, pool: LicensePool, counts: Mapping[str, int]) -> None:
        self._pool = pool
        self.counts = counts

    def holds_back_all(self) -> bool:
        """Whether too few are free."""
        return self._too_few() is not None

    def holds_back(self, job: Job, resources: int) -> Excess | None:  # noqa: ARG002 - whatever its nodes
        """Give the licence of which too few are free."""
        name = self._too_few()
        if name is None:
            return None
        limit = Limit(Reason.LICENSES, "cluster", f"Licenses={name}", self._pool.total.get(name, 0))
        return Excess(limit, self._pool.used.get(name, 0), self.counts[name])

    def _too_few(self) -> str | None:
        """Name the first licence of which too few are free."""
        total, used = self._pool.total, self._pool.used
        for name, count in self.counts.items():
            if used.get(name, 0) + count > total.get(name, 0):
                return name
        return None

    def started(self, job: Job) -> None:  # noqa: ARG002 - they are all the same
        """Give a job its licences."""
        for name, count in self.counts.items():
            self._pool.used[name] = self._pool.used.get(name, 0) + count

    def ended(self, job: Job) -> None:  # noqa: ARG002 - they are all the same
        """Take them back."""
        for name, count in self.counts.items():
            self._pool.used[name] -= count


class LicensePool:
    """How many licences there are, and how many are in use.

    Raises:
        InputError: ``Licenses`` of slurm.conf cannot be used.
    """

    def __init__(self, config: ClusterConfig) -> None:
        self.total: dict[str, int] = {}
        self.used: dict[str, int] = {}
        self._wanted: dict[str, LicensesWanted] = {}
        self.set_config(config)

    def set_config(self, config: ClusterConfig) -> None:
        """Take over how many there are; what is in use stays in use."""
        self.total = read_licenses(config)

    def admit(self, job: Job) -> None:
        """Have a new job wait for the licences that it asks for.

        Raises:
            RequestError: there never are so many.
        """
        self._check(job.spec.licenses)
        self.take_over(job)

    def exchange(self, job: Job, text: str) -> None:
        """Give a running job other licences, also where so many are not free.

        Raises:
            RequestError: there never are so many.
        """
        self._check(text)
        for one in job.restraints:
            if isinstance(one, LicensesWanted):
                one.ended(job)
        for record in (job, *job.records):
            record.restraints = tuple(one for one in record.restraints if not isinstance(one, LicensesWanted))
        job.spec = job.spec._replace(licenses=text)
        self.take_over(job)

    def _check(self, text: str) -> None:
        try:
            counts = parse_licenses(text)
        except ValueError as error:
            raise RequestError(str(error), Errno.INVALID_LICENSES) from None
        for name, count in counts.items():
            if count > self.total.get(name, 0):
                there_are = ", ".join(f"{name}:{count}" for name, count in self.total.items()) or "none"
                raise RequestError(
                    f"Invalid license specification: {name}:{count} requested, there are {there_are}",
                    Errno.INVALID_LICENSES,
                )

    def take_over(self, job: Job) -> None:
        """Have a job wait for its licences, or count those that it has, whatever there are."""
        text = job.spec.licenses
        if not text:
            return
        wanted = self._wanted.get(text)
        if wanted is None:
            wanted = self._wanted[text] = LicensesWanted(self, parse_licenses(text))
        for record in (job, *job.records):
            record.restraints = (*record.restraints, wanted)
        if job.alloc:
            wanted.started(job)


def read_licenses(config: ClusterConfig) -> dict[str, int]:
    """Read ``Licenses`` of slurm.conf.

    Raises:
        InputError: it cannot be used.
    """
    try:
        return parse_licenses(config.get("Licenses"))
    except ValueError as error:
        raise config.error("Licenses", str(error)) from None
