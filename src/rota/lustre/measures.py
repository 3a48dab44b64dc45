"""What can be asked for: the five metrics (`rota.lustre.metrics`), and any operation.

========================== ==========================================================
``OPERATION.samples``      how often it was done, such as ``open.samples``
``OPERATION.total``        its bytes or microseconds
``OPERATION.latency``      its mean time, microseconds
``unread.samples``         how often something was not read, and is not known
========================== ==========================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rota.lustre.metrics import DATA, UNREAD, Metrics
from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The five metrics.
METRICS = Metrics._fields
#: How often something of a job is not known, which no metric has.
NOT_KNOWN = f"{UNREAD}.samples"
_PARTS = ("samples", "total", "latency")


class Sum(NamedTuple):
    """A column, and the codes of the operations of which it is added up."""

    column: str
    operations: tuple[int, ...]


class Measure(NamedTuple):
    """A sum, or a sum by another one."""

    sum: Sum
    by: Sum | None = None


def measure_of(name: str, operations: Sequence[str]) -> Measure:
    """Say what a metric is made of.

    Args:
        name: Its name.
        operations: The store's operations, by code.

    Raises:
        InputError: there is no such metric.
    """
    operation, dot, part = name.rpartition(".")
    codes = tuple(code for code, one in enumerate(operations) if one == operation)
    if name in ("read_bytes", "write_bytes"):
        return Measure(_sum("totals", operations, {name}))
    if name in ("read_iops", "write_iops"):
        return Measure(_sum("samples", operations, {name.replace("iops", "bytes")}))
    if name == "metadata_iops":
        return Measure(_sum("samples", operations, set(operations) - DATA))
    if not dot or part not in _PARTS:
        known = ", ".join((*METRICS, *(f"OPERATION.{one}" for one in _PARTS)))
        raise InputError(f"{name!r} is no metric: take one of {known}", field="metrics")
    if part == "latency":
        return Measure(Sum("totals", codes), Sum("samples", codes))
    return Measure(Sum("samples" if part == "samples" else "totals", codes))


def _sum(column: str, operations: Sequence[str], names: set[str]) -> Sum:
    return Sum(column, tuple(code for code, one in enumerate(operations) if one in names))
