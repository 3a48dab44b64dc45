"""The packed schedule, unpacked again the way the page does."""

from __future__ import annotations

import base64
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rota.results.report.columns import encode_schedule, varint

if TYPE_CHECKING:
    from results.conftest import MakeSchedule, RandomLog


def unpack_numbers(data: str) -> list[int]:
    numbers, value, shift = [], 0, 0
    for byte in base64.b64decode(data):
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(value)
            value = shift = 0
    assert not shift, "the last number is whole"
    return numbers


def unpack(packed: dict[str, Any]) -> dict[str, list[int]]:
    numbers, count = iter(unpack_numbers(packed["data"])), packed["count"]
    columns = {name: [next(numbers) for _ in range(count)] for name in packed["columns"]}
    assert next(numbers, None) is None, "nothing is left over"
    return columns


def unzigzag(number: int) -> int:
    return (number >> 1) ^ -(number & 1)


def running_sum(numbers: list[int]) -> list[int]:
    return list(accumulate(unzigzag(n) for n in numbers))


@pytest.mark.parametrize(
    ("number", "encoded"),
    [(0, b"\0"), (127, b"\x7f"), (128, b"\x80\x01"), (300, b"\xac\x02"), (2**63, b"\x80" * 9 + b"\x01")],
)
def test_varint(number: int, encoded: bytes) -> None:
    assert varint(np.array([number], np.uint64)) == encoded


def test_unpacking_gives_the_schedule_back(random_log: RandomLog) -> None:
    schedule = random_log(500, 3)
    columns = unpack(encode_schedule(schedule))
    assert running_sum(columns["id"]) == schedule.job_id.tolist()
    assert running_sum(columns["submit"]) == schedule.submit.tolist()
    assert [unzigzag(n - 1) for n in columns["begun"]] == schedule.wait.tolist()
    assert [unzigzag(n - 1) for n in columns["ended"]] == schedule.run.tolist()
    assert [unzigzag(n) for n in columns["procs"]] == schedule.procs.tolist()
    assert [unzigzag(n) for n in columns["user"]] == schedule.user_id.tolist()
    assert [unzigzag(n) for n in columns["limit"]] == schedule.time_limit.tolist()
    assert columns["state"] == schedule.state.tolist()


def test_what_never_happened_is_a_zero(make_schedule: MakeSchedule) -> None:
    columns = unpack(encode_schedule(make_schedule([(9, -1, 50, -1, 80, 1, 1), (3, 2, 40, 45, -1, 1, 1)])))
    assert columns["begun"] == [0, 1 + 2 * 5]
    assert columns["ended"] == [1 + 2 * 30, 0], "counted from submission when it never started"
    assert running_sum(columns["id"]) == [9, 3]
    assert unzigzag(columns["user"][0]) == -1


def test_a_job_takes_few_bytes(random_log: RandomLog) -> None:
    assert len(encode_schedule(random_log(2000, 1))["data"]) < 20 * 2000
