"""The eighteen fields of a job line in SWF, and their valid values.

Times are whole seconds, except for the average CPU time, which logs have in hundredths; some logs have fractions in
others, too (those of Batsim and OAR), which are rounded when they are read. -1 is unknown; no other value is negative,
except for submit times: jobs may have been queued before the log's second 0.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rota.model import YEAR

IntColumn: TypeAlias = NDArray[np.int64]
Column: TypeAlias = NDArray[np.int64] | NDArray[np.float64]

#: The value for "unknown".
UNKNOWN = -1
#: The largest magnitude: up to it whole numbers are exact as floats, and sums stay within 64 bits.
LIMIT = 2**53 - 1
#: That of times that are played: the year 9999, after which Python has no dates.
LATEST = 253_402_300_799
#: That of how long something takes, in which a replay plays each period: a hundred years.
LONGEST = 100 * YEAR


class Field(NamedTuple):
    """One field of a job line."""

    #: Name of the attribute of `Workload`.
    name: str
    #: Name in messages.
    title: str
    #: Smallest valid value.
    least: int = UNKNOWN
    #: Largest valid value.
    most: int = LIMIT
    #: Whether fractions are valid.
    fractional: bool = False


FIELDS: tuple[Field, ...] = (
    Field("job_number", "job number", least=0),
    Field("submit_time", "submit time", least=-LATEST, most=LATEST),
    Field("wait_time", "wait time", most=LONGEST),
    Field("run_time", "run time", most=LONGEST),
    Field("allocated_procs", "allocated processors"),
    Field("avg_cpu_time", "average CPU time", fractional=True),
    Field("used_memory", "used memory", fractional=True),
    Field("requested_procs", "requested processors"),
    Field("requested_time", "requested time"),
    Field("requested_memory", "requested memory"),
    Field("status", "status"),
    Field("user_id", "user"),
    Field("group_id", "group"),
    Field("executable", "executable"),
    Field("queue", "queue"),
    Field("partition", "partition"),
    Field("preceding_job", "preceding job"),
    Field("think_time", "think time", most=LONGEST),
)
#: Fields of which fractions of a second are rounded: lengths for which a job holds its processors up, times down.
ROUNDED_UP, ROUNDED_DOWN = ("run_time", "requested_time"), ("submit_time", "wait_time", "think_time")
#: Names of attributes in the order of a job line.
FIELD_NAMES: tuple[str, ...] = tuple(field.name for field in FIELDS)


def label(index: int) -> str:
    """Name a field, given its index from 0, as error messages do: ``field 4 (run time)``."""
    return f"field {index + 1} ({FIELDS[index].title})"
