"""The frame of the command line, with a command that fails in every way a command can."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

import click
import pytest

from rota import __version__
from rota.cli import main as frame
from rota.model import InputError, InvariantError, PluginError

if TYPE_CHECKING:
    from collections.abc import Callable

    Failing = Callable[[BaseException], int]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Failing:
    """Run a command that raises what it is given."""

    def run(error: BaseException) -> int:
        @click.command
        def fail() -> NoReturn:
            raise error

        module = ModuleType("failing")
        module.fail = fail  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "failing", module)
        monkeypatch.setitem(frame.COMMANDS, "fail", frame.Command("failing", "fail", "Fail."))
        return frame.main(["fail"])

    return run


def python(*args: str) -> str:
    return subprocess.run([sys.executable, *args], check=True, capture_output=True, text=True).stdout


def test_start_up_imports_nothing_heavy() -> None:
    loaded = set(python("-c", "import rota.cli.main, sys; print(*sys.modules)").split())
    assert "click" in loaded
    assert not loaded & {"numpy", "pyarrow", "rich", "jinja2", "ClusterShell", "asyncio", "dataclasses", "rota.model"}


def test_python_m_rota() -> None:
    assert python("-m", "rota", "--version") == f"rota {__version__}\n"


def test_help_needs_no_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(name: str) -> NoReturn:
        raise AssertionError(name)

    monkeypatch.setattr(frame, "import_module", refuse)
    assert frame.main(["--help"]) == 0
    text = capsys.readouterr().out
    for name, command in frame.COMMANDS.items():
        assert f"  {name} " in text
        assert command.help in text


@pytest.mark.parametrize("name", frame.COMMANDS)
def test_every_command_is_where_the_table_says(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert frame.main([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: rota {name} ")


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert frame.main(["reply"]) == 2
    assert "No such command 'reply'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InputError("not a number", path="a.swf", line=7, field="run time"), "a.swf:7: run time: not a number"),
        (PluginError("sched/x: broken\nin two lines"), "sched/x: broken in two lines"),
    ],
)
def test_what_the_user_can_mend_is_one_line(
    error: Exception, line: str, failing: Failing, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing(error) == 2
    assert capsys.readouterr() == ("", f"rota: error: {line}\n")


@pytest.mark.parametrize("error", [ZeroDivisionError("a defect"), InvariantError("a defect")])
def test_a_defect_asks_for_a_report(error: Exception, failing: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(error) == 1
    text = capsys.readouterr().err
    assert text.startswith("Traceback ")
    assert f"{type(error).__name__}: a defect\n" in text
    assert "Please report it" in text
    assert f"version {__version__}" in text


def test_interrupted(failing: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(KeyboardInterrupt()) == 130
    assert capsys.readouterr().err.strip() == "rota: interrupted"


def test_a_command_chooses_its_status(failing: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(click.exceptions.Exit(3)) == 3
    assert failing(click.UsageError("no such thing")) == 2
    assert "no such thing" in capsys.readouterr().err


@pytest.mark.parametrize("args", [["--help"], ["--version"]])
def test_a_reader_that_goes_away_is_no_error(args: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as stdout:
        done = subprocess.run(
            [sys.executable, "-m", "rota", *args], check=False, stdout=stdout, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (1, "")
