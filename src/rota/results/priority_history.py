"""Fair-share and multifactor priorities in the course of a replay, as samples over time.

There is a history only if the priority plugin has shares and factors. `PriorityHistory.as_dict` and `read_history`
convert to and from ``priorities.json``. JSON has no infinity: there an infinite level fair-share is ``null``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.results.stored import reading

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

#: Format of ``priorities.json``; to be changed when older files can no longer be read.
HISTORY_FORMAT = "rota-priorities-1"
#: Largest number of jobs whose factors are recorded.
MAX_WAITS = 20
#: Types of fields of `JobFactors`; the other fields are factors.
_KINDS: dict[str, type] = {"job_id": int, "user": str, "account": str, "wait": int, "priority": int}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFactors:
    """The weighted priority factors of a job, as last seen before its start.

    The priority is their sum less ``nice``, rounded down to a whole number of at least 1.
    """

    job_id: int
    user: str
    account: str
    #: Seconds from submission to start.
    wait: int
    priority: int
    age: float = 0.0
    assoc: float = 0.0
    fairshare: float = 0.0
    job_size: float = 0.0
    partition: float = 0.0
    qos: float = 0.0
    #: Sum of the TRES factors; may be negative.
    tres: float = 0.0
    #: Site factor, without a weight; may be negative.
    site: float = 0.0
    #: Nice value, which is subtracted; may be negative.
    nice: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PriorityHistory:
    """Samples over time of every account's usage and fair-share, and the factors of the jobs that waited longest.

    Raises:
        ValueError: columns differ in length, or times are not ascending.
    """

    #: Times of the samples, Unix seconds, ascending.
    times: NDArray[np.int64]
    #: Names of the accounts in tree order, depth first, without the root.
    accounts: tuple[str, ...]
    #: Depth of each account below the root.
    depth: tuple[int, ...]
    #: By sample and account: part of the cluster's decayed usage, 0 to 1, subaccounts included.
    usage_share: NDArray[np.float64]
    #: By account: target share, the product of shares/level up to the root.
    target_share: NDArray[np.float64]
    #: By sample and account: with Fair Tree the level fair-share, which may be infinite, else the factor, 0 to 1.
    fairshare: NDArray[np.float64]
    fair_tree: bool
    #: The jobs that waited longest, in this order, at most `MAX_WAITS`.
    waits: tuple[JobFactors, ...]

    def __post_init__(self) -> None:
        """Check the lengths of the columns and the order of times."""
        count = len(self.accounts)
        if len(self.depth) != count or self.target_share.shape != (count,):
            raise ValueError("accounts, depth and target_share differ in length")
        for name in ("usage_share", "fairshare"):
            if getattr(self, name).shape != (len(self.times), count):
                raise ValueError(f"{name} does not have one row a time and one column an account")
        if (np.diff(self.times) <= 0).any():
            raise ValueError("times do not rise")

    def as_dict(self) -> dict[str, Any]:
        """Convert the history to JSON data, account by account."""
        columns = zip(
            self.accounts,
            self.depth,
            self.target_share.tolist(),
            self.usage_share.T.tolist(),
            [_finite(values) for values in self.fairshare.T],
            strict=True,
        )
        return {
            "format": HISTORY_FORMAT,
            "fair_tree": self.fair_tree,
            "times": self.times.tolist(),
            "accounts": [dict(zip(_ACCOUNT_FIELDS, column, strict=True)) for column in columns],
            "waits": [_typed(asdict(job)) for job in self.waits],
        }


_ACCOUNT_FIELDS = ("name", "depth", "target_share", "usage_share", "fairshare")


def read_history(stored: dict[str, Any], path: Path) -> PriorityHistory:
    """Make the history from the data of `PriorityHistory.as_dict`.

    Args:
        stored: Content of ``priorities.json``.
        path: Path of the file, for error messages.

    Raises:
        InputError: the data is not such a history.
    """
    with reading("history of priorities", stored, HISTORY_FORMAT, path):
        accounts = stored["accounts"]
        times = np.array(stored["times"], np.int64)
        shape = (len(accounts), len(times))
        return PriorityHistory(
            times=times,
            accounts=tuple(str(account["name"]) for account in accounts),
            depth=tuple(int(account["depth"]) for account in accounts),
            usage_share=_series(accounts, "usage_share", shape),
            target_share=np.array([account["target_share"] for account in accounts], np.float64),
            fairshare=_series(accounts, "fairshare", shape),
            fair_tree=bool(stored["fair_tree"]),
            waits=tuple(_job_factors(job) for job in stored["waits"]),
        )


def _finite(values: NDArray[np.float64]) -> list[float | None]:
    """Convert numbers for JSON: infinity to ``None``."""
    return [value if value != np.inf else None for value in values.tolist()]


def _series(accounts: list[dict[str, Any]], name: str, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Give a series for each account as an array by sample and account; ``None`` is infinity."""
    rows = [[np.inf if value is None else value for value in account[name]] for account in accounts]
    # In memory as it was recorded: a row for each sample.
    return np.ascontiguousarray(np.array(rows, np.float64).reshape(shape).T)


def _job_factors(stored: dict[str, Any]) -> JobFactors:
    return JobFactors(**_typed(stored))


def _typed(values: dict[str, Any]) -> dict[str, Any]:
    """Convert the fields of a `JobFactors` to their types, so that they are written the same again."""
    return {field.name: _KINDS.get(field.name, float)(values[field.name]) for field in fields(JobFactors)}
