from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING, Any, Self

import pytest
from rich.cells import cell_len

from rota.cli.iostat_frame import amount, frame

if TYPE_CHECKING:
    from pathlib import Path

_METRICS = ("read_bytes", "write_bytes", "read_iops", "write_iops", "metadata_iops")


def _row(label: str, rate: float, fields: dict[str, str] | None = None) -> dict[str, Any]:
    return {"label": label, "fields": fields, "rates": dict.fromkeys(_METRICS, rate)}


def _top(rows: list[dict[str, Any]], more: int = 0) -> dict[str, Any]:
    window = {"begin": 0, "end": 60, "by": "job", "sort": "write_bytes"}
    together = {**_row("", 2.5e12), "totals": dict.fromkeys(_METRICS, 60 * 2.5e12)}
    return {**window, "rows": rows, "more": more, "others": _row("", 5), "all": together}


def _status(*errors: str) -> dict[str, Any]:
    sources = [{"name": f"s{n}", "error": error, "missed": 0, "busy_since": None} for n, error in enumerate(errors)]
    return {"until": 1_700_006_400, "sources": sources, "writing": {"error": ""}, "lookups": {}}


def test_a_source_that_is_odd_is_one_of_those_that_are_read() -> None:
    status = _status("", "")
    status["sources"][1]["remark"] = "another has it too"
    title, remark, *_ = frame(_top([]), status, 100, 30)
    assert "2 of 2 sources" in title
    assert remark == "! s1: another has it too"


def test_what_is_not_known_is_named() -> None:
    top = _top([])
    assert "not known" not in frame(top, _status(""), 100, 30)[0]
    top["all"]["totals"]["unread.samples"] = 3
    assert frame(top, _status(""), 100, 30)[0].endswith("3 times not known")


def test_a_table() -> None:
    rows = [_row("4103947", 1536, {"user": "ann", "name": "train"}), _row("cp.0", 0.5, {"user": "root"}), _row("", 0)]
    lines = frame(_top(rows, more=7), _status("", "host is down"), 100, 30)
    assert [line.split() for line in lines[1:]] == [
        ["!", "s1:", "host", "is", "down"],
        [],
        ["JOB", "USER", "NAME", "READ/s", "WRITE/s<", "READS/s", "WRITES/s", "META/s"],
        ["4103947", "ann", "train", "1.5K", "1.5K", "1.54K", "1.54K", "1.54K"],
        ["cp.0", "root", "0.5", "0.5", "0.5", "0.5", "0.5"],
        ["(not", "known)", "0", "0", "0", "0", "0"],
        ["(7", "others)", "5", "5", "5", "5", "5"],
        ["(all)", "2.27T", "2.27T", "2.5T", "2.5T", "2.5T"],
    ]
    assert "1 of 2 sources" in lines[0]


@pytest.mark.parametrize("width", [1, 10, 20, 33, 50, 80, 200])
@pytest.mark.parametrize("height", [1, 5, 24])
def test_any_size_of_a_terminal(width: int, height: int) -> None:
    """Ids may have signs that are two columns wide, or that would move the cursor."""
    rows = [_row("日本語" * 9, 1, {"user": "u" * 99}), _row("\x1b[2J\nx", 2, {"user": "\r"})] * 20
    lines = frame(_top(rows, more=1), _status(), width, height)
    assert len(lines) <= height
    assert all(cell_len(line) <= width for line in lines)
    assert all(line.isprintable() for line in lines)


def test_the_column_that_is_sorted_by_is_there_on_narrow_terminals() -> None:
    top = {**_top([_row("1", 3)]), "sort": "metadata_iops"}
    assert "META/s<" in "\n".join(frame(top, _status(), 30, 24))


@pytest.mark.parametrize(
    ("value", "is_bytes", "text"),
    [
        (None, True, "-"),
        (0, True, "0"),
        (0.004, False, "<0.01"),
        (999, False, "999"),
        (999.7, False, "1K"),
        (1023, True, "0.999K"),
        (10_240, True, "10K"),
        (123_456_789, False, "123M"),
        (1e30, True, "8.67e+11E"),
    ],
)
def test_amounts(value: float | None, is_bytes: bool, text: str) -> None:
    assert amount(value, is_bytes=is_bytes) == text


class Terminal:
    """`rota iostat` on a terminal of its own.

    Args:
        words: Its options.
        size: Lines and columns of the terminal.
    """

    def __init__(self, *words: str, size: tuple[int, int] = (24, 90)) -> None:
        self._own, other = pty.openpty()
        termios.tcsetwinsize(other, size)
        self.before = termios.tcgetattr(other)
        self._other = other
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rota", "iostat", *words],
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - so that ^C is a signal
        )
        self.text = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._own)
        os.close(self._other)

    def wait_for(self, pattern: str) -> None:
        """Read until something is shown."""
        end = time.monotonic() + 60
        while not re.search(pattern, self.text):
            assert time.monotonic() < end, self.text
            if select.select([self._own], [], [], 1)[0]:
                self.text += os.read(self._own, 65536).decode()

    def press(self, key: str) -> None:
        self.text = ""
        os.write(self._own, key.encode())

    def end(self) -> int:
        """Wait for the end; the terminal has to be as it was before."""
        self.wait_for(r"\x1b\[\?25h\x1b\[\?1049l")
        status = self.process.wait(60)
        assert termios.tcgetattr(self._other) == self.before
        return status


def test_lookups_that_fail_are_shown() -> None:
    plugins = {"slurm_job_id": {"fault": "sacct failed"}, "procname_uid": {"fault": ""}}
    status = {**_status(""), "lookups": {"plugins": plugins}}
    assert "! jobs cannot be looked up: sacct failed" in frame(_top([], more=0), status, 100, 30)


@pytest.mark.parametrize(("end", "status"), [("q", 0), ("\x03", 130), ("SIGTERM", 143)])
def test_the_live_view(tmp_path: Path, end: str, status: int) -> None:
    """Without a service it says so, and waits for it; whichever way it ends, the terminal is as before."""
    with Terminal("--store", str(tmp_path)) as terminal:
        terminal.wait_for("start `rota")
        terminal.press("u")
        terminal.wait_for("start `rota")
        if end == "SIGTERM":
            terminal.process.send_signal(signal.SIGTERM)
        else:
            terminal.press(end)
        assert terminal.end() == status


@pytest.mark.parametrize("size", [(0, 0), (1, 1), (2, 5)])
def test_a_terminal_of_any_size_or_of_none(tmp_path: Path, size: tuple[int, int]) -> None:
    """Serial lines and containers often say that they have no columns: then it is as on 80."""
    with Terminal("--store", str(tmp_path), size=size) as terminal:
        terminal.wait_for("start `rota" if size == (0, 0) else r"\x1b\[J")
        terminal.press("q")
        assert terminal.end() == 0
