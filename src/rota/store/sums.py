"""Sums over what is stored, by which a reader sees that it is as it was written.

A sum covers the name of the table and all values of a row, so that a row that was altered, or has the place of another
one, does not have the sum that is stored with it. They are against accidents, not against somebody who writes sums too.
"""

from __future__ import annotations

from zlib import crc32

#: Between a record of accounting and its sums, at its end: no JSON has a line feed outside of texts, nor in them.
_SEAL = "\n"


def sum_of(table: str, *values: object) -> int:
    """Give the sum of a row: of its table, and of its values in the order of the columns."""
    total = crc32(table.encode())
    for value in values:
        data = value if isinstance(value, bytes) else str(value).encode(errors="surrogatepass")
        total = crc32(b"\x1f", crc32(data, total))
    return total


def sealed(record: str, *columns: object) -> str:
    """Give a record of accounting with its sum, and that of the columns beside it."""
    return f"{record}{_SEAL}{sum_of('jobs', record):08x}{sum_of('jobs', *columns):08x}"


def unsealed(record: str) -> str | None:
    """Give a record of accounting without its sums; ``None``: it is not as it was written."""
    text, _, sums = record.rpartition(_SEAL)
    return text if len(sums) == 16 and sums[:8] == f"{sum_of('jobs', text):08x}" else None


def fits(record: str, *columns: object) -> bool:
    """Whether a record of accounting and the columns beside it are as they were written."""
    return unsealed(record) is not None and record[-8:] == f"{sum_of('jobs', *columns):08x}"
