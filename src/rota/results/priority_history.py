"""What fair-share and the multifactor priority did in the course of a replay, as samples over time.

Only a replay whose priority plugin knows shares and factors has a history. `PriorityHistory.as_dict` and `read_history`
are the two sides of ``priorities.json``; JSON knows no infinity, so there an infinite level fair-share is ``null``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.results.stored import reading

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

#: Marks ``priorities.json``; changes when old readers can no longer read it.
HISTORY_FORMAT = "rota-priorities-1"
#: The most jobs whose factors are kept.
MAX_WAITS = 20
#: Types of the fields of `JobFactors`; all others are factors.
_KINDS: dict[str, type] = {"job_id": int, "user": str, "account": str, "wait": int, "priority": int}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFactors:
    """One job, and how its priority came about: factors multiplied with their weights, as last seen before its start.

    The priority is about their sum less ``nice``; it is cut to a whole number of at least 1.
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
    #: Of all TRES together; may be negative.
    tres: float = 0.0
    #: Added as it is; may be negative.
    site: float = 0.0
    #: Subtracted; may be negative.
    nice: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PriorityHistory:
    """Samples over time: of every account's usage and fair-share; and the factors of the jobs that waited longest.

    Raises:
        ValueError: columns differ in length, or times do not rise.
    """

    #: Unix seconds, rising.
    times: NDArray[np.int64]
    #: In the order of the tree, depth first, without the root.
    accounts: tuple[str, ...]
    #: How far below the root each account is; children of the root have the least.
    depth: tuple[int, ...]
    #: By sample and account: part of the cluster's decayed usage, from 0 to 1; an account's has that of those below it.
    usage_share: NDArray[np.float64]
    #: By account: product of shares/level from the account up to the root.
    target_share: NDArray[np.float64]
    #: By sample and account: level fair-share with Fair Tree, may be infinite; otherwise the factor, from 0 to 1.
    fairshare: NDArray[np.float64]
    fair_tree: bool
    #: The jobs that waited longest, longest first, at most `MAX_WAITS`.
    waits: tuple[JobFactors, ...]

    def __post_init__(self) -> None:
        """Check what everybody who reads the columns relies on."""
        count = len(self.accounts)
        if len(self.depth) != count or self.target_share.shape != (count,):
            raise ValueError("accounts, depth and target_share differ in length")
        for name in ("usage_share", "fairshare"):
            if getattr(self, name).shape != (len(self.times), count):
                raise ValueError(f"{name} does not have one row a time and one column an account")
        if (np.diff(self.times) <= 0).any():
            raise ValueError("times do not rise")

    def as_dict(self) -> dict[str, Any]:
        """Give the history for JSON, account by account."""
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
    """Build the history from what `PriorityHistory.as_dict` gave.

    Args:
        stored: The content of ``priorities.json``.
        path: Where it was read, for messages.

    Raises:
        InputError: it is something else.
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
    """Give numbers for JSON: ``None`` for infinity."""
    return [value if value != np.inf else None for value in values.tolist()]


def _series(accounts: list[dict[str, Any]], name: str, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Give one series an account as an array by sample and account; ``None`` is infinite."""
    rows = [[np.inf if value is None else value for value in account[name]] for account in accounts]
    # Laid out as it was recorded, a row a sample.
    return np.ascontiguousarray(np.array(rows, np.float64).reshape(shape).T)


def _job_factors(stored: dict[str, Any]) -> JobFactors:
    return JobFactors(**_typed(stored))


def _typed(values: dict[str, Any]) -> dict[str, Any]:
    """Give the fields of a `JobFactors`, each of its own type: what is read back is then written the same again."""
    return {field.name: _KINDS.get(field.name, float)(values[field.name]) for field in fields(JobFactors)}
