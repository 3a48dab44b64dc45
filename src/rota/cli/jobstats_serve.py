"""`rota jobstats serve`: collect who loads a file system, keep it, and show it over HTTP and on a page."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rota.cli.echo import echo
from rota.cli.http_process import check_http
from rota.cli.live import default_state
from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.lustre.deltas import Deltas
    from rota.lustre.feed import SourceFeed


def default_store() -> Path:
    """Give the directory of the store where none is named."""
    return default_state() / "jobstats"


store_option = click.option(
    "--store",
    type=click.Path(path_type=Path),
    help="Directory of what is kept.  [default: jobstats in the directory that `rota up --state` has]",
)
source_option = click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="SOURCE",
    help="lctl, ssh://[USER@]HOST, dir:PATH or a file; may be repeated.  [default: lctl]",
)


_NAMES_OPTIONS = (
    click.option("--plugin-dir", default="", metavar="DIRS", help="Directories of plugins that know jobs."),
    click.option("--variable", default="", help="Lustre's jobid_var: a hint whose ids these are."),
    click.option("--format", "jobid_name", default="", help="Lustre's jobid_name, such as %j@%u@%H."),
)


def names_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of lookups."""
    for option in reversed(_NAMES_OPTIONS):
        command = option(command)
    return command


@click.command()
@source_option
@store_option
@click.option("--interval", default=10, show_default=True, help="Seconds between readings; must divide a minute.")
@click.option("--keep", default="", metavar="STEP=TIME,…", help="How long to keep what, such as 10s=6h,1h=90d,1d=ever.")
@click.option("--http", "tcp", default="", metavar="HOST:PORT", help="Serve on TCP too, on loopback; see the token.")
@click.option("--public", is_flag=True, help="Ask for no token on TCP: all users of this machine may see all jobs.")
@click.option("--group", default="", help="A group whose members may use the Unix socket too.")
@click.option(
    "--pseudonyms", default="", metavar="FIELD,…", help="Show pseudonyms of these, such as job,user,name; all: of all."
)
@click.option(
    "--remote-write", metavar="URL", default="", help="Send the sums there too, as Prometheus's remote write."
)
@click.option(
    "--remote-write-token", type=click.Path(path_type=Path), metavar="FILE", help="Has the bearer token for that."
)
@names_options
@click.option("--timeout", default=10.0, show_default=True, help="Seconds for one command of a source or a scheduler.")
def serve(
    *,
    sources: tuple[str, ...],
    store: Path | None,
    interval: int,
    keep: str,
    tcp: str,
    public: bool,
    group: str,
    pseudonyms: str,
    remote_write: str,
    remote_write_token: Path | None,
    plugin_dir: str,
    variable: str,
    jobid_name: str,
    timeout: float,
) -> None:
    """Collect what jobs do to a Lustre file system, keep it, and show it over HTTP and on a page.

    It serves on a Unix socket in the store, which `rota iostat` uses, until it is ended. With --http a browser gets the
    page there. On TCP one needs the token in the store's file `token`.
    """
    check_http()
    from rota.api.lustre.remote_write import RemoteWrite
    from rota.api.lustre.serve import serve_lustre
    from rota.jobmeta import Lookups
    from rota.lustre.clock import SteadyClock
    from rota.lustre.deltas import Deltas
    from rota.lustre.service import Service
    from rota.lustre.store import tiers_of
    from rota.web.lustre import lustre_pages

    folder = (store or default_store()).absolute()
    tiers = tiers_of(interval, keep)
    deltas = Deltas()
    feeds = feeds_of(sources, timeout, deltas)
    with Lookups(plugin_dir, variable=variable, jobid_name=jobid_name, timeout=timeout, report=_report) as names:
        hidden = [one.strip() for one in pseudonyms.split(",") if one.strip()]
        service = Service(
            folder, tiers, feeds, names, clock=SteadyClock(), report=_report, deltas=deltas, pseudonyms=hidden
        )
        token = _read(remote_write_token) if remote_write_token else ""
        with RemoteWrite(service, remote_write, token, _report) if remote_write else nullcontext():
            serve_lustre(
                service,
                folder,
                tcp,
                group=group,
                public=public,
                ready=lambda where: echo(f"HTTP at {', '.join(where)}"),
                pages=lustre_pages(),
            )


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, ValueError) as error:
        raise InputError(f"it cannot be read: {error}", path=path) from None


def feeds_of(sources: tuple[str, ...], timeout: float, deltas: Deltas) -> list[SourceFeed]:
    """Make feeds of sources as they are written, which count together.

    Raises:
        InputError: a source cannot be read again and again, or is there twice.
        SourceError: a source is not written as one.
    """
    from rota.lustre.feed import SourceFeed
    from rota.lustre.sources import parse_source

    wanted = sources or ("lctl",)
    if "-" in wanted:
        raise InputError("standard input can be read once only: take a file or a directory", field="--source")
    if len(set(wanted)) < len(wanted):
        raise InputError("a source is named twice", field="--source")
    return [SourceFeed(parse_source(_absolute(text)), timeout, deltas) for text in wanted]


def _absolute(source: str) -> str:
    """Write a source so that it is the same in any working directory."""
    if source == "lctl" or source.startswith("ssh:"):
        return source
    kind = "dir:" if source.startswith("dir:") else ""
    return f"{kind}{Path(source.removeprefix(kind)).absolute()}"


def _report(line: str) -> None:
    echo(line, err=True)
