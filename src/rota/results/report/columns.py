"""The whole schedule in a page, compactly: about 12 bytes a job.

Every column is a run of zigzag variable-length integers (LEB128), the bulky ones as differences: most jobs are
submitted soon after the one before, wait and run for hours rather than years. No compression library is involved, so
that the bytes are the same everywhere and the page needs no decompressor; ``js/columns.js`` is the other side.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from rota.results.schedule import STATES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from rota.results.schedule import Schedule

_PAYLOAD_BITS = 7
_MORE = 0x80
_MAX_BYTES = 10


def encode_schedule(schedule: Schedule) -> dict[str, Any]:
    """Pack the columns that the page draws, in the order in which the page unpacks them.

    ``begun`` is the wait and ``ended`` the run in seconds, each plus one as ``optional`` does. The run of a job that
    never started counts from its submission.
    """
    begun = np.where(schedule.start >= 0, schedule.start, schedule.submit)
    columns = {
        "id": differences(schedule.job_id),
        "submit": differences(schedule.submit),
        "begun": optional(schedule.wait, schedule.start >= 0),
        "ended": optional(schedule.end - begun, schedule.end >= 0),
        "procs": zigzag(schedule.procs),
        "user": zigzag(schedule.user_id),
        "limit": zigzag(schedule.time_limit),
        "state": schedule.state.astype(np.uint64),
    }
    return {
        "count": len(schedule),
        "columns": list(columns),
        "states": [state.value for state in STATES],
        "data": pack(columns.values()),
    }


def pack(columns: Iterable[NDArray[np.uint64]]) -> str:
    """Put columns one after the other, in base64."""
    return base64.b64encode(b"".join(map(varint, columns))).decode("ascii")


def varint(values: NDArray[np.uint64]) -> bytes:
    """Encode as LEB128: seven bits a byte, lowest first, the top bit set in all but the last byte of a number."""
    length = np.ones(len(values), np.int64)
    for count in range(1, _MAX_BYTES):
        length += values >= np.uint64(1 << (_PAYLOAD_BITS * count))
    offset = np.cumsum(length) - length
    out = np.zeros(int(length.sum()), np.uint8)
    for byte in range(int(length.max(initial=0))):
        long = length > byte
        bits = (values[long] >> np.uint64(_PAYLOAD_BITS * byte)) & np.uint64(_MORE - 1)
        out[offset[long] + byte] = bits | np.where(length[long] > byte + 1, np.uint64(_MORE), np.uint64(0))
    return out.tobytes()


def zigzag(values: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Fold the sign into the lowest bit: 0, -1, 1, -2 become 0, 1, 2, 3."""
    return ((values << 1) ^ (values >> 63)).astype(np.uint64)


def differences(values: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Encode each value as its difference from the one before, the first from 0."""
    return zigzag(np.diff(values, prepend=np.int64(0)))


def optional(values: NDArray[np.int64], known: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Encode an unknown value as 0 and move the known ones up by one."""
    return np.where(known, zigzag(values) + np.uint64(1), np.uint64(0))
