"""Commands are run without a shell, within limits of time and size."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from rota.interfaces import SEPARATOR, Command
from rota.jobmeta.run import NOT_STARTED, PRINTED_TOO_MUCH, TOOK_TOO_LONG, Runner

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Fakes


def test_what_it_starts_is_killed_with_it(fake: Fakes, tmp_path: Path) -> None:
    fake("slow", body=f"(sleep 60; touch {tmp_path}/survived) & sleep 60")
    begin = time.monotonic()
    answer, fault = Runner(0.3).run(Command(("slow",)))
    assert time.monotonic() - begin < 30
    assert (answer.returncode, fault) == (TOOK_TOO_LONG, "slow took longer than 0.3 s and was killed")


def test_giant_output(fake: Fakes) -> None:
    answer, fault = Runner(60, max_output=1000).run(Command(("yes", "line")))
    assert (answer.returncode, fault) == (PRINTED_TOO_MUCH, "yes printed more than 1,000 bytes and was killed")
    assert answer.stdout == "line\n" * 200


def test_giant_errors_are_read_and_not_kept(fake: Fakes) -> None:
    fake("loud", "fine\n", body="yes error | sed 100000q >&2")
    answer, fault = Runner(60).run(Command(("loud",)))
    assert (answer.stdout, fault) == ("fine\n", "")
    assert len(answer.stderr) == 2**16


def test_bytes_that_are_no_text(fake: Fakes) -> None:
    fake("junk", body=r"printf '\377\000\n'")
    assert Runner(60).run(Command(("junk",))).answer.stdout == "\ufffd\x00\n"


def test_nobody_can_print_the_separator(fake: Fakes) -> None:
    fake("liar", body=f"printf 'a{SEPARATOR}b\\n'")
    assert Runner(60).run(Command(("liar",))).answer.stdout == "ab\n"


@pytest.mark.parametrize("argv", [(), ("no-such-command",), ("cat", "a\x00b"), ("cat", "x" * 200_000), ("/etc",)])
def test_what_cannot_be_started(fake: Fakes, argv: tuple[str, ...]) -> None:
    answer, fault = Runner(60).run(Command(argv))
    assert answer.returncode == NOT_STARTED
    assert fault


def test_words_are_passed_as_they_are(fake: Fakes) -> None:
    fake("show")
    Runner(60).run(Command(("show", "$(id)", "a b", "*", "'")))
    assert fake.calls("show") == [["$(id)", "a b", "*", "'"]]


def test_a_command_that_closes_its_output_and_stays(fake: Fakes) -> None:
    fake("stays", body="exec >&- 2>&-; sleep 60")
    assert Runner(0.3).run(Command(("stays",))).answer.returncode == TOOK_TOO_LONG


def test_none_is_started_after_the_end(fake: Fakes) -> None:
    runner = Runner(60)
    runner.close()
    assert "lookups have ended" in runner.run(Command(("cat",))).fault


def test_a_command_that_need_not_be_there() -> None:
    ran = Runner(60).run(Command(("no-such-command",), ok=(0, NOT_STARTED)))
    assert (ran.answer.returncode, ran.fault) == (NOT_STARTED, "")
