"""`rota iostat`: who loads a Lustre file system now, as `top` shows who loads a machine."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sys
import termios
import textwrap
import tty
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rota.cli.echo import echo
from rota.cli.iostat_frame import COLUMNS, frame
from rota.cli.iostat_from import Asked, Server, read_sources
from rota.cli.jobstats_serve import default_store, names_options, source_option, store_option
from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.cli.iostat_from import Numbers

#: Columns and lines of a terminal that says it has none, as those of serial lines and containers do.
_USUAL = (80, 24)
#: Seconds between two frames.
_EVERY = 2.0
#: What is grouped by, by key.
_GROUPS = {
    "j": "job",
    "u": "user",
    "a": "account",
    "n": "name",
    "h": "host",
    "t": "target",
    "k": "kind",
    "o": "operation",
}
_WINDOWS = (10.0, 60.0, 300.0, 600.0, 3600.0, 86400.0)
_HELP = "sort: r w R W m   group: j u a n h t k o   longer, shorter time: + -   quit: q"
#: A second screen without a cursor, and back.
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"


@click.command()
@source_option
@store_option
@click.option("--url", metavar="http://HOST:PORT", help="A service on TCP instead of the one at --store.")
@click.option("--token-file", type=click.Path(path_type=Path), help="The file `token` of that service.")
@click.option("--interval", default=10, show_default=True, help="Seconds between readings of a --source.")
@click.option("--timeout", default=10.0, show_default=True, help="Seconds for one command of a --source.")
@names_options
@click.option("--by", default="job", show_default=True, help="Group by job, user, account, name, target, kind, …")
@click.option(
    "--sort", default="write_bytes", show_default=True, type=click.Choice([column.metric for column in COLUMNS])
)
@click.option("--last", default=60.0, show_default=True, help="Show means of so many seconds.")
@click.option("--top", "count", type=click.IntRange(1, 10_000), help="How many groups.  [default: as many as fit]")
@click.option("--where", multiple=True, metavar="FIELD=VALUE", help="Show only these, such as kind=OST.")
@click.option("--once", is_flag=True, help="Show one table and end, as without a terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON, once.")
def iostat(
    *,
    sources: tuple[str, ...],
    store: Path | None,
    url: str | None,
    token_file: Path | None,
    interval: int,
    timeout: float,
    by: str,
    sort: str,
    last: float,
    count: int | None,
    where: tuple[str, ...],
    once: bool,
    as_json: bool,
    plugin_dir: str,
    variable: str,
    jobid_name: str,
) -> None:
    """Show which jobs, users or accounts load a Lustre file system now.

    The numbers are those of `rota jobstats serve`, or of sources that are read by this command itself. Keys of the live
    view: r w R W m sort by a column; j u a n h t k o group by job, user, account, name, host, target, kind, operation;
    + and - take a longer or shorter time; q ends.
    """
    from rota.jobmeta import Lookups

    asked = Asked(by, sort, last, count or 20, where)
    server = _server(store, url, token_file)
    names = Lookups(plugin_dir, variable=variable, jobid_name=jobid_name, timeout=timeout)
    with names, read_sources(sources, interval, timeout, names) if sources else nullcontext(server) as numbers:
        if as_json:
            echo(json.dumps({"top": numbers.top(asked), "status": numbers.status()}))
        elif once or not (sys.stdin.isatty() and sys.stdout.isatty()):
            lines = frame(
                numbers.top(asked), numbers.status(), shutil.get_terminal_size((100, 24)).columns, asked.top + 9
            )
            echo("\n".join(line.rstrip() for line in lines))
        else:
            _live(numbers, asked, fits=count is None)


def _server(store: Path | None, url: str | None, token_file: Path | None) -> Server:
    """Give the service that runs.

    Raises:
        InputError: the token cannot be read.
    """
    if url is None:
        return Server(str((store or default_store()) / "http.sock"), "")
    if not url.startswith("http://"):
        raise InputError("is not http://HOST:PORT", field="--url")
    try:
        return Server(url, token_file.read_text().strip() if token_file else "")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=token_file, field="--token-file") from None


def _live(numbers: Numbers, asked: Asked, *, fits: bool) -> None:
    """Show a frame after the other until somebody ends it."""
    with _screen():
        while True:
            size = os.get_terminal_size(sys.stdout.fileno())
            columns, height = size.columns or _USUAL[0], size.lines or _USUAL[1]
            if fits:
                asked = replace(asked, top=height)
            try:
                lines = frame(numbers.top(asked), numbers.status(), columns, height - 1)
            except InputError as error:  # the service may come back
                lines = textwrap.wrap(str(error), columns)[: height - 1]
            lines.append(_HELP[: columns - 1])
            sys.stdout.write("\x1b[H" + "\r\n".join(f"{line}\x1b[K" for line in lines) + "\x1b[J")
            sys.stdout.flush()
            key = _key(_EVERY)
            if key == "q":
                return
            asked = _changed(asked, key)


def _changed(asked: Asked, key: str) -> Asked:
    """Do what a key says."""
    for column in COLUMNS:
        if key == column.key:
            return replace(asked, sort=column.metric)
    if key in _GROUPS:
        return replace(asked, by=_GROUPS[key])
    if key == "+":
        return replace(asked, last=next((one for one in _WINDOWS if one > asked.last), asked.last))
    if key == "-":
        return replace(asked, last=next((one for one in reversed(_WINDOWS) if one < asked.last), asked.last))
    return asked


def _key(seconds: float) -> str:
    """Wait for a key; empty: there was none."""
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    if not ready:
        return ""
    found = os.read(sys.stdin.fileno(), 64)
    return found[:1].decode("latin-1") if found else "q"  # the terminal is gone


@contextmanager
def _screen() -> Iterator[None]:
    """Use a second screen, on which keys are not shown, and go back to the first one in any case."""
    before = termios.tcgetattr(sys.stdin)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        tty.setcbreak(sys.stdin)
        sys.stdout.write(_ENTER)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        sys.stdout.write(_LEAVE)
        sys.stdout.flush()
