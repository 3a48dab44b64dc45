"""``rota http`` and ``rota token``: a live cluster over HTTP."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import click

from rota.cli.echo import echo
from rota.cli.http_process import check_http
from rota.cli.live import ask, known_state, seconds_of, state_option
from rota.model import InputError


@click.command()
@state_option
@click.option(
    "--socket",
    "path",
    type=click.Path(path_type=Path),
    help="Unix socket.  [default: http.sock in the state directory]",
)
@click.option("--tcp", default="", metavar="HOST:PORT", help="Serve on TCP too, on loopback, for users with tokens.")
@click.option("--lifeline", is_flag=True, hidden=True, help="End when standard input ends.")
def http(*, state: Path | None, path: Path | None, tcp: str, lifeline: bool) -> None:
    """Serve a live cluster over HTTP: its own API, slurmrestd's, and metrics for Prometheus.

    Who asks is what the kernel says of the Unix socket; on TCP it is the user of a token, see `rota token`.
    """
    check_http()
    from rota.api.serve import serve_http

    directory = (state or known_state()).absolute()
    if not (directory / "bin").exists():
        raise InputError("no cluster has been started there: start one with `rota up`", path=directory)
    serve_http(
        directory,
        path,
        tcp,
        lifeline=lifeline,
        ready=lambda where: echo(f"HTTP at {', '.join(where)}"),
    )


@click.command()
@state_option
@click.option("--user", default="", help="Whose, if root or who runs the cluster asks.  [default: yours]")
@click.option("--lifetime", metavar="TIME", help="How long it is valid, such as 1-0 for a day.  [default: for ever]")
@click.option("--list", "shown", is_flag=True, help="List tokens instead.")
@click.option("--revoke", metavar="ID", help="Revoke a token instead.")
def token(*, state: Path | None, user: str, lifetime: str | None, shown: bool, revoke: str | None) -> None:
    """Make a token, with which its owner can use HTTP over TCP. It is shown this once."""
    if shown:
        for one in json.loads(ask("token", "list", state=state)):
            until = "for ever" if one["until"] is None else f"until {_date(one['until'])}"
            echo(f"{one['id']}  {one['user']}  made {_date(one['made'])}, valid {until}")
    elif revoke:
        ask("token", "revoke", revoke, state=state)
    else:
        seconds = seconds_of(lifetime, "--lifetime") if lifetime else 0
        echo(ask("token", "make", user, str(seconds), state=state), nl=False)


def _date(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC).astimezone():%Y-%m-%dT%H:%M:%S}"
