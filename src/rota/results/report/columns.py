"""The schedule in a page, encoded in about 12 bytes for each job.

Every column is a sequence of zigzag variable-length integers (LEB128), the large ones as differences: most jobs are
submitted soon after the one before, and wait and run for hours rather than years. No compression library is used, so
the bytes are the same everywhere and the page needs no decompressor; ``js/columns.js`` decodes them.
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
    """Encode the columns that the page draws, in the order in which the page decodes them.

    ``begun`` is the wait and ``ended`` the run in seconds, plus one as in ``optional``. The run of a job that never
    started counts from its submission.
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


def encode_names(schedule: Schedule) -> dict[str, Any]:
    """Encode the names of users and accounts, if known: each name once, and its index for each job."""
    packed = {}
    for name in ("user", "account"):
        texts = getattr(schedule, name)
        if texts is not None and any(texts):
            numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
            places = np.fromiter((numbers[text] for text in texts), np.int64, len(texts))
            packed[name] = {"texts": list(numbers), "data": pack([zigzag(places)])}
    return packed


def pack(columns: Iterable[NDArray[np.uint64]]) -> str:
    """Concatenate columns and encode them in base64."""
    return base64.b64encode(b"".join(map(varint, columns))).decode("ascii")


def varint(values: NDArray[np.uint64]) -> bytes:
    """Encode as LEB128: seven bits in each byte, lowest first; the top bit is set in all but a number's last byte."""
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
    """Move the sign to the lowest bit: 0, -1, 1, -2 become 0, 1, 2, 3."""
    return ((values << 1) ^ (values >> 63)).astype(np.uint64)


def differences(values: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Encode each value as the difference from the one before, the first from 0."""
    return zigzag(np.diff(values, prepend=np.int64(0)))


def optional(values: NDArray[np.int64], known: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Encode unknown values as 0 and known ones plus 1."""
    return np.where(known, zigzag(values) + np.uint64(1), np.uint64(0))
