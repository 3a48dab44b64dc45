"""What is lost, twice or untrue is found."""

from __future__ import annotations

import pytest

from .killer import Gap
from .ledger import Line, Step
from .oracle import Away, OfCommand, Run
from .users import Command, Order

_BEGIN = Line(10, "begin", 1, "-", 0, "script", 0)
_END = Line(20, "end", 1, "-", 0, "script", 3)
_RUN = Run(1, 1, "-", "one", "FAILED", 3, 0)
_STEP = Step("one.0", 0, 1, 0)
_STEPS = [Line(11, "begin", 1, "-", 0, "one.0.0", 0), Line(12, "end", 1, "-", 0, "one.0.0", 0)]
_GOT = Line(13, "got", 1, "-", 0, "one.0", 0)


def _batch(*words: str, out: str = "1\n", status: int | None = 0, **more: object) -> Command:
    command = Command("one", "batch", ["sbatch", *words], codes=(3,), out=out, status=status, returned=30)
    for name, value in more.items():
        setattr(command, name, value)
    return command


def _order(verb: str, status: int = 0, at: float = 15, said: str = "") -> Order:
    return Order(verb, at, at, status, said)


def _findings(command: Command, runs: list[Run], lines: list[Line], gaps: tuple[Gap, ...] = ()) -> str:
    return "\n".join(OfCommand(command, runs, lines, Away(gaps, ())).findings())


def _run(state: str, code: int = 0, signal: int = 0, *, is_unknown: bool = False) -> Run:
    return Run(1, 1, "-", "one", state, code, signal, is_unknown)


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        (_batch(), [_RUN]),
        (_batch("--wait", status=3), [_RUN]),
        (_batch(orders=[_order("cancel")]), [_run("CANCELLED")]),
        (_batch(orders=[_order("look", said="RUNNING"), _order("look", said="FAILED")]), [_RUN]),
    ],
)
def test_what_is_true(command: Command, runs: list[Run]) -> None:
    assert _findings(command, runs, [_BEGIN, _END]) == ""


@pytest.mark.parametrize(
    ("command", "runs", "lines", "found"),
    [
        (_batch(), [], [], "was acknowledged, there are none"),
        (_batch(out="2"), [_RUN], [_BEGIN, _END], "job 2 was acknowledged"),
        (_batch(), [_RUN], [_BEGIN, _BEGIN, _END], "2 times"),
        (_batch(), [_run("COMPLETED")], [_BEGIN, _END], "was to end with 3"),
        (_batch(), [_run("FAILED", 1)], [_BEGIN, _END], "was to end with 3"),
        (_batch(), [_RUN], [_BEGIN], "and ended at None"),
        (_batch(), [_run("CANCELLED")], [_BEGIN], "nobody has cancelled"),
        (_batch(), [_run("TIMEOUT")], [_BEGIN, _END], "not too long"),
        (_batch(), [_run("NODE_FAIL")], [_BEGIN], "nothing has caused"),
        (_batch(), [_run("FAILED", is_unknown=True)], [_BEGIN, _END], "not in a gap"),
        (_batch(), [_run("REQUEUED"), _RUN], [_BEGIN, _END], "was requeued 1 times"),
        (_batch(orders=[_order("requeue")]), [_RUN], [_BEGIN, _END], "1 acknowledged"),
        (_batch(orders=[_order("cancel")]), [_RUN], [_BEGIN, _END], "was cancelled before"),
        (
            _batch(orders=[_order("suspend"), _order("resume", at=40)]),
            [_RUN],
            [_BEGIN, _END],
            "although it was suspended",
        ),
        (_batch(orders=[_order("look")]), [_RUN], [_BEGIN, _END], "did not know it"),
        (_batch(orders=[_order("look", said="COMPLETED")]), [_RUN], [_BEGIN, _END], "and in the end"),
        (_batch("--wait", status=1), [_RUN], [_BEGIN, _END], "status 1, not 3"),
        (_batch("--wait", status=3, returned=15), [_RUN], [_BEGIN, _END], "before the end"),
        (_batch("--wait", status=None), [_RUN], [_BEGIN, _END], "has not ended"),
        (_batch(steps=(_STEP,)), [_RUN], [_BEGIN, *_STEPS, _GOT, _END], "sacct says None"),
        (_batch(steps=(_STEP,)), [_RUN], [_BEGIN, *_STEPS, _GOT._replace(value=1), _END], "its script got [1]"),
        (_batch(is_array=True, codes=(3, 3)), [Run(1, 1, "0", "one", "FAILED", 3, 0)], [], "has the tasks ['0']"),
        (
            _batch(is_batch=False, out="", status=1, err="the connection to the controller was lost"),
            [_RUN],
            [_BEGIN, _END],
            "says that it was not heard, but it ran",
        ),
    ],
)
def test_what_is_not(command: Command, runs: list[Run], lines: list[Line], found: str) -> None:
    assert found in _findings(command, runs, lines)


def test_an_end_that_nobody_saw() -> None:
    unknown = _run("FAILED", is_unknown=True)
    assert _findings(_batch(), [unknown], [_BEGIN, _END], (Gap(19, 21),)) == ""
