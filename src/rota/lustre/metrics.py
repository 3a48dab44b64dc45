"""The five metrics of a job's I/O, and which operations they are made of, in every generation of Lustre.

A name may mean two things: until 2.5 ``read`` and ``write`` count bytes; from 2.14 they time the requests that
``read_bytes`` and ``write_bytes`` count. The unit tells which. `operation` gives the first their later name, so that
behind it a name means one thing, and no request is counted twice:

=============== ====================================================================
metric          of the operations
=============== ====================================================================
read_bytes      ``read_bytes``: the sum
write_bytes     ``write_bytes``: the sum
read_iops       ``read_bytes``: the samples
write_iops      ``write_bytes``: the samples
metadata_iops   all others but ``read``, ``write`` and `UNREAD`: the samples
=============== ====================================================================

Source: Integrated Manager for Lustre, whose metrics of jobs these are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.lustre.counters import Increase

#: Their bytes and requests are the four metrics of data.
READ, WRITE = "read_bytes", "write_bytes"
#: Microseconds that the same requests took: never counted beside them.
LATENCIES = frozenset({"read", "write"})
#: No operation of Lustre: how often something of a job was not read, and is not known, as its entry went or was made
#: anew while the job may have been at work.
UNREAD = "unread"
#: What is not metadata.
DATA = LATENCIES | {READ, WRITE, UNREAD}


class Metrics(NamedTuple):
    """What a job did: bytes, and numbers of operations."""

    read_bytes: int = 0
    write_bytes: int = 0
    read_iops: int = 0
    write_iops: int = 0
    metadata_iops: int = 0


def operation(name: str, unit: str) -> str:
    """Give an operation the name that it has since 2.6, of the name and the unit in a dump."""
    return f"{name}_bytes" if unit == "bytes" and name in LATENCIES else name


def metrics(increases: Mapping[str, Increase]) -> Metrics:
    """Sum up what was done, by operation."""
    read_bytes = write_bytes = read_iops = write_iops = metadata_iops = 0
    for name, (samples, total) in increases.items():
        if name == READ:
            read_iops, read_bytes = samples, total
        elif name == WRITE:
            write_iops, write_bytes = samples, total
        elif name not in DATA:
            metadata_iops += samples
    return Metrics(read_bytes, write_bytes, read_iops, write_iops, metadata_iops)
