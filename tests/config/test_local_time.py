"""Moments in all notations, and local time where clocks change. Expected Unix seconds are those of GNU date."""

from __future__ import annotations

import pytest

from rota.config.local_time import parse_moment, utc_offset_by_variable, utc_offset_of
from rota.model import InputError
from rota.workload.header import time_zone

#: 2022-01-01T00:00:00 in Stockholm, an hour east of UTC then.
START = 1640991600
STOCKHOLM = utc_offset_of("Europe/Stockholm")
DAY = 86400


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("86400", DAY),
        (" 90 ", 90),
        ("1:30", 90),
        ("2:00:00", 7200),
        ("5-12", 5 * DAY + 43200),
        ("5-12:30", 5 * DAY + 45000),
        ("5-12:30:15", 5 * DAY + 45015),
        ("2022-01-01", 0),
        ("2022-01-02T00:00:01", DAY + 1),
        ("2022-01-02 12:00", DAY + 43200),
        ("2022-01-01T12:00:00.9", 43200),
        ("2022-01-01T00:00:00Z", 3600),
        ("2022-01-01T00:00:00+09:00", -28800),
        ("2021-12-31T23:59:59", -1),
        ("2022-07-01T00:00:00", 181 * DAY - 3600),
    ],
)
def test_moment(text: str, seconds: int) -> None:
    assert parse_moment(text, START, STOCKHOLM) == START + seconds


@pytest.mark.parametrize(
    "text", ["", "abc", "--", "-1", "UNLIMITED", "infinite", "2022-13-01", "12:00:00:00", "1e3", "²"]
)
def test_no_moment(text: str) -> None:
    with pytest.raises(InputError, match="is no moment: write a date such as 2022-01-01T12:00:00, or the time since"):
        parse_moment(text, START, STOCKHOLM)


@pytest.mark.parametrize(
    "text",
    [
        "99999999999999999999",
        "9999999999999",
        "9999999-0",
        "0001-01-01",
        "0001-01-01T00:00:00+10:00",
        "1969-12-31T23:59:59Z",
        "9999-12-31T23:59:59",
        "9999-12-31T23:59:59-10:00",
    ],
)
def test_a_moment_outside_the_calendar(text: str) -> None:
    with pytest.raises(InputError, match="is not from 1970 to 9999"):
        parse_moment(text, START, STOCKHOLM)


@pytest.mark.parametrize(
    ("text", "unix"),
    [
        # On 2022-03-27 the clocks go from 02:00 to 03:00 at 01:00 UTC, 1648342800.
        ("2022-03-27T01:59:59", 1648342799),
        ("2022-03-27T03:00:00", 1648342800),
        # On 2022-10-30 they go from 03:00 back to 02:00 at 01:00 UTC, 1667091600.
        ("2022-10-30T01:59:59", 1667087999),
        ("2022-10-30T03:00:00", 1667095200),
    ],
)
def test_a_moment_around_a_change_of_the_clocks(text: str, unix: int) -> None:
    assert parse_moment(text, 0, STOCKHOLM) == unix


@pytest.mark.parametrize(
    ("zone", "time", "offset"),
    [
        ("UTC", START, 0),
        ("Europe/Stockholm", START, 3600),
        ("Europe/Stockholm", 1648342799, 3600),
        ("Europe/Stockholm", 1648342800, 7200),
        ("America/New_York", START, -18000),
        ("Asia/Kolkata", START, 19800),
        ("Asia/Kolkata", 10**15, 19800),
        ("America/New_York", -(10**15), -17762),  # local mean time
    ],
)
def test_offset(zone: str, time: int, offset: int) -> None:
    assert utc_offset_of(zone)(time) == offset


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "../../etc/passwd", "Europe"])
def test_no_such_time_zone(zone: str) -> None:
    with pytest.raises(InputError, match=r"--time-zone: .* is no time zone: write one such as Europe/Stockholm or UTC"):
        utc_offset_of(zone)


@pytest.mark.parametrize(
    ("header", "zone"),
    [
        ([], "UTC"),
        (["; TimeZone: 3600"], "UTC"),
        (["; MaxProcs: 8", "; TimeZoneString: Europe/Stockholm"], "Europe/Stockholm"),
        ([";TimeZoneString:   US/Pacific  "], "US/Pacific"),
        (["; TimeZoneString: Nowhere/Atall"], "UTC"),
        (["; TimeZoneString: Europe"], "UTC"),
        (["; TimeZoneString: ../../etc/passwd"], "UTC"),
        (["; Note: the TimeZoneString: Europe/Stockholm"], "UTC"),
    ],
)
def test_zone_of_a_log(header: list[str], zone: str) -> None:
    assert time_zone(header) == zone


@pytest.mark.parametrize(
    ("zone", "offset"),
    [
        ("Europe/Berlin", 3600),
        (":Europe/Berlin", 3600),
        ("/usr/share/zoneinfo/Europe/Berlin", 3600),
        ("America/New_York", -5 * 3600),
        ("EST5", -5 * 3600),
        ("UTC0", 0),
        ("<+0530>-5:30", 19800),
        ("AAA-99", 24 * 3600),
        ("EST5:70", -(5 * 3600 + 59 * 60)),
        ("", 0),
        ("nonsense", 0),
        ("A1" * 200, 0),
        ("../../etc/passwd", 0),
        (":/etc/passwd", 0),
        ("/usr/share/zoneinfo/../../../etc/passwd", 0),
        ("Europe/\0", 0),
        ("Europe/\udcff", 0),
        ("CET-1CEST", 7),
    ],
)
def test_zone_of_the_variable(zone: str, offset: int) -> None:
    """As `TZ=… date` tells, but for the last, which is left to the machine."""
    assert utc_offset_by_variable(zone, lambda _time: 7)(START) == offset
