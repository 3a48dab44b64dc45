"""Points of time in Slurm's notations. Now is Sunday, 2026-11-22, 16:40 in local time, an hour ahead of UTC."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rota.commands.getopt import UsageError
from rota.commands.moments import parse_slurm_time

NOW = int(datetime(2026, 11, 22, 15, 40, tzinfo=UTC).timestamp())


def parsed(text: str, *, past: bool = False) -> str:
    found = parse_slurm_time(text, NOW, lambda _: 3600, past=past)
    return f"{datetime.fromtimestamp(found + 3600, tz=UTC):%Y-%m-%dT%H:%M:%S}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", "2026-11-22T16:40:00"),
        ("now+90", "2026-11-22T16:41:30"),
        ("now-2hours", "2026-11-22T14:40:00"),
        ("now + 1 week", "2026-11-29T16:40:00"),
        ("today", "2026-11-22T00:00:00"),
        ("tomorrow", "2026-11-23T00:00:00"),
        ("midnight", "2026-11-23T00:00:00"),
        ("teatime", "2026-11-23T16:00:00"),
        ("18:30", "2026-11-22T18:30:00"),
        ("4:30PM", "2026-11-23T16:30:00"),
        ("12:05:06am", "2026-11-23T00:05:06"),
        ("2026-11-21", "2026-11-21T00:00:00"),
        ("2026-11-21T08:09", "2026-11-21T08:09:00"),
        ("1970-01-01-00:00:01", "1970-01-01T00:00:01"),
        ("11/20", "2026-11-20T00:00:00"),
        ("11/20/25-08:00", "2025-11-20T08:00:00"),
        ("20.11.26", None),
        ("11.20.26", "2026-11-20T00:00:00"),
        ("1120", "2026-11-20T00:00:00"),
        ("112025", "2025-11-20T00:00:00"),
        ("uts1795365600", "2026-11-22T17:40:00"),
        ("bogus", None),
        ("", None),
        ("25:00", None),
        ("2026-13-01", None),
        ("2026-11-21T", None),
        ("now+5fortnights", None),
    ],
)
def test_time(text: str, expected: str | None) -> None:
    if expected is not None:
        assert parsed(text) == expected
        return
    with pytest.raises(UsageError) as error:
        parsed(text)
    assert error.value.err == f"Invalid time specification (pos=0): {text}\n"


def test_a_time_of_day_is_of_today_where_the_past_is_meant() -> None:
    assert parsed("08:00", past=True) == "2026-11-22T08:00:00"
    assert parsed("midnight", past=True) == "2026-11-22T00:00:00"
