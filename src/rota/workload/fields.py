"""The eighteen fields of a job line and what each may hold: the one table that reader, writer and checks share.

Three rules cover them all. A time is a whole number of seconds, as everywhere in rota, save the processor time that
a job used, which logs record in hundredths. What is not known is -1, and nothing else may be negative. The submit time
alone may lie before the log's second 0, as it does where jobs were queued before the recording began.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

IntColumn: TypeAlias = NDArray[np.int64]
Column: TypeAlias = NDArray[np.int64] | NDArray[np.float64]

#: What a log writes for a value that it does not have.
UNKNOWN = -1
#: The largest magnitude: up to it every whole number is exact as a float too, and sums stay well within 64 bits.
LIMIT = 2**53 - 1


class Field(NamedTuple):
    """One field of a job line."""

    #: Attribute of `Workload`.
    name: str
    #: For people.
    title: str
    #: The least value it may have.
    least: int = UNKNOWN
    #: It may have a fraction.
    fractional: bool = False


FIELDS: tuple[Field, ...] = (
    Field("job_number", "job number", least=0),
    Field("submit_time", "submit time", least=-LIMIT),
    Field("wait_time", "wait time"),
    Field("run_time", "run time"),
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
    Field("think_time", "think time"),
)
#: Attribute names in the order of a job line.
FIELD_NAMES: tuple[str, ...] = tuple(field.name for field in FIELDS)


def label(index: int) -> str:
    """Name the field at ``index`` (from 0) as error messages do: ``field 4 (run time)``."""
    return f"field {index + 1} ({FIELDS[index].title})"
