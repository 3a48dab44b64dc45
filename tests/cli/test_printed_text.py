"""Nothing that others have written does anything to the terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rota.cli.echo import echo

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Outcome, Rota, WritePlugin

EVIL = "\x1b]0;owned\x07\x1b[31m\u202e\x9b2J\r"


def is_plain(outcome: Outcome) -> bool:
    text = outcome.out + outcome.err
    assert text
    return all(one.isprintable() or one in "\n\t" for one in text)


def test_echo(capsys: pytest.CaptureFixture[str]) -> None:
    echo(f"a{EVIL}\n\tb")
    assert capsys.readouterr().out == "a\\x1b]0;owned\\x07\\x1b[31m\\u202e\\x9b2J\\r\n\tb\n"


@pytest.mark.parametrize(
    "words",
    [
        [EVIL],
        ["replay", f"{EVIL}/x.swf"],
        ["replay", "KTH-SP2", "--scheduler", f"sched/{EVIL}"],
        ["replay", "KTH-SP2", "--plugin-dir", f"{EVIL}/x"],
        ["replay", "KTH-SP2", "--config", f"{EVIL}/x"],
        ["replay", "KTH-SP2", f"--{EVIL}"],
        ["compare", f"{EVIL}/x"],
        ["plan", f"{EVIL}/x"],
        ["plan", "KTH-SP2", "--at", EVIL],
        ["explain", "--at", EVIL, "KTH-SP2", EVIL],
        ["plugin", "show", EVIL],
        ["plugin", "check", f"{EVIL}.py"],
        ["sweep", f"{EVIL}/x"],
        ["iostat", "--url", EVIL],
        ["status", "--state", f"{EVIL}/x"],
    ],
    ids=" ".join,
)
def test_words_of_the_command_line(rota: Rota, words: list[str]) -> None:
    outcome = rota(*words)
    assert outcome.status != 0
    assert is_plain(outcome)


def test_names_and_messages_of_plugins(
    rota: Rota, small_log: Path, plugins: Path, write_plugin: WritePlugin, tmp_path: Path
) -> None:
    path = write_plugin("sched/mine", f"def slurm_sched_p_newalloc(job_ptr):\n    raise ValueError({EVIL!r})\n")
    path.write_text(
        path.read_text().replace('plugin_name = "', f'plugin_name = "{EVIL.encode("unicode_escape").decode()}')
    )
    for words in (
        ["plugin", "list"],
        ["plugin", "show", "sched/mine"],
        ["plugin", "check", "sched/mine"],
        ["replay", small_log, "--scheduler", "sched/mine"],
        ["replay", small_log, "--scheduler", "sched/mine", "--tolerate-faults", "--out", tmp_path / "out"],
    ):
        assert is_plain(rota(*words, "--plugin-dir", plugins)), words


def test_names_of_jobs_in_a_plan(rota: Rota, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = {"job_id": 1, "name": f"x{EVIL}\nroot's job", "state": "PENDING", "start": 5, "nodes": "n1"}
    planned |= {"array_job_id": None, "array_task": ""}
    monkeypatch.setattr("rota.cli.plan.ask", lambda *_, **__: json.dumps([planned]))
    outcome = rota("plan")
    assert outcome.status == 0, outcome
    assert is_plain(outcome)
    assert "x\\x1b]0;owned\\x07\\x1b[31m\\u202e\\x9b2J\\r\\nroot's job" in outcome.out
    assert outcome.out.splitlines()[2] == ""  # the table has one line beside its head
