"""``rota up``, ``rota down``, ``rota status`` and ``rota env``: a live cluster on this machine."""

from __future__ import annotations

import gc
import json
import os
import re
import select
import shlex
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rota.cli.echo import echo
from rota.client import thin
from rota.model import InputError, RotaError
from rota.model.units import parse_time_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds for which `rota up` waits for the controller.
_PATIENCE = 60.0
#: Bytes with which a controller can begin.
_LEAST_MEMORY = 256 << 20
#: Seconds by which cluster time differs from the machine's clock before that is told.
_CLOCK_OFF = 60
_SYSTEM_STATE = Path("/var/lib/rota")
#: Only the controller is stopped with the unit: jobs run on, in control groups below it. What they may have together is
#: for the limits of their users to say: systemd's would end what rota itself needs when one of them has too many.
_UNIT = """\
[Unit]
Description=rota, a workload manager
After=local-fs.target

[Service]
Type=exec
ExecStart={command}
KillMode=process
TasksMax=infinity
LimitNOFILE=1024:524288
Delegate=yes
Restart=on-failure

[Install]
WantedBy={target}
"""


def default_state() -> Path:
    """Give the state directory of the user's own cluster: ``ROTA_STATE``, else a folder in their state directory.

    Root's is where others can reach it.
    """
    if given := os.environ.get("ROTA_STATE"):
        return Path(given).absolute()
    if os.geteuid() == 0 and "XDG_STATE_HOME" not in os.environ:
        return _SYSTEM_STATE
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "rota"


def known_state() -> Path:
    """Give the state directory of the user's own cluster or, if they have none, of the machine's."""
    own = default_state()
    return own if (own / "bin").exists() or not (_SYSTEM_STATE / "bin").exists() else _SYSTEM_STATE


state_option = click.option(
    "--state",
    type=click.Path(path_type=Path),
    help="Directory of the cluster's state.  [default: ROTA_STATE, else ~/.local/state/rota, root's /var/lib/rota]",
)


def up_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of `rota up` that say how a cluster is run."""
    for option in (
        click.option("--http-tcp", default="", metavar="HOST:PORT", help="Serve HTTP on TCP too, on loopback."),
        click.option("--http", is_flag=True, help="Serve HTTP too, on a Unix socket: see `rota http`."),
        click.option(
            "--database", default="", help="URL of a PostgreSQL database.  [default: SQLite in the state directory]"
        ),
        click.option(
            "--keep",
            metavar="TIME",
            help="Keep ended jobs for so long, such as 90-0 for 90 days or UNLIMITED.  [default: as before, else 30-0]",
        ),
        click.option(
            "--memory",
            metavar="SIZE",
            help="Refuse what takes more memory, such as 4G.  [default: by MaxJobCount and nodes, up to half]",
        ),
        click.option("--config", "conf", type=click.Path(path_type=Path), help="slurm.conf.  [default: this machine]"),
    ):
        command = option(command)
    return command


@click.command()
@state_option
@up_options
@click.option("--foreground", is_flag=True, help="Run the controller in this process.")
def up(
    *,
    state: Path | None,
    conf: Path | None,
    keep: str | None,
    memory: str | None,
    database: str,
    http: bool,
    http_tcp: str,
    foreground: bool,
) -> None:
    """Start a live cluster on this machine, or start it again.

    When the command returns, jobs can be submitted: see `rota env`.
    """
    gc.disable()  # nearly all that is made until the cluster is up stays: `serve` has it collected again
    from rota.cli.serve import Settings, serve

    directory = (state or default_state()).absolute()
    settings = Settings(
        directory,
        conf,
        keep=seconds_of(keep, "--keep") if keep else None,
        memory=_bytes_of(memory) if memory else 0,
        database=database,
        http=http,
        http_tcp=http_tcp,
    )
    if settings.http:
        from rota.cli.http_process import check_http

        check_http()
    if foreground:

        def ready(notices: list[str]) -> None:
            _warn(notices)
            echo(f"rota: up, state in {settings.state}; end with Ctrl-C", err=True)

        serve(settings, ready)
        return
    receiver, sender = os.pipe()
    if os.fork() == 0:
        os.close(receiver)
        _become_daemon(sender)
        try:
            serve(settings, lambda notices: _tell(sender, "\n".join(["ok", *notices])))
        except RotaError as error:
            _tell(sender, " ".join(str(error).splitlines()))
            os._exit(2)
        os._exit(0)
    os.close(sender)
    said, *notices = _told(receiver).split("\n")
    if said != "ok":
        raise InputError(said)
    _warn(notices)
    echo(f"rota is up. For its commands in this shell: {_env_command(settings.state)}")


def seconds_of(text: str, option: str) -> int:
    """Read a time such as ``90-0``, in seconds; 0: it has no end.

    Raises:
        InputError: it is none.
    """
    try:
        return parse_time_seconds(text) or 0
    except ValueError as error:
        raise InputError(str(error), field=option) from None


def _bytes_of(text: str) -> int:
    """Read a size such as ``4G``.

    Raises:
        InputError: it is none, or too small for a controller.
    """
    match = re.fullmatch(r"(\d{1,9})([MGT])B?", text.upper(), re.ASCII)
    size = int(match[1]) << {"M": 20, "G": 30, "T": 40}[match[2]] if match else 0
    if size < _LEAST_MEMORY:
        raise InputError(f"{text!r} is no size of at least 256M: write 512M, or 4G", field="--memory")
    return size


@click.command()
@state_option
@click.option(
    "--jobs",
    type=click.Choice(["keep", "cancel"]),
    default="keep",
    show_default=True,
    help="Running jobs run on and are found again by `rota up`, or are cancelled.",
)
def down(*, state: Path | None, jobs: str) -> None:
    """Stop the controller of a live cluster."""
    directory = (state or known_state()).absolute()
    _call(directory, "down", *(["cancel"] if jobs == "cancel" else []))
    _wait_until_unlocked(directory)
    echo("rota is down." + (" Its running jobs run on." if jobs == "keep" else ""))


@click.command()
@state_option
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def status(*, state: Path | None, as_json: bool) -> None:
    """Show a live cluster: its nodes and jobs, and how processes are supervised here."""
    from rota.listings.clock import duration

    found: dict[str, Any] = json.loads(_call((state or known_state()).absolute(), "status"))
    if as_json:
        echo(json.dumps(found, indent=2))
        return
    jobs = ", ".join(f"{count:,} {name.lower()}" for name, count in sorted(found["jobs"].items())) or "none"
    rows = {
        "cluster": f"{found['cluster']}, rota {found['version']}, process {found['pid']}",
        "state": found["state"],
        "configuration": found["slurm_conf"] or "this machine",
        "nodes": f"{found['nodes']:,}, with {found['cpus_allocated']:,} of {found['cpus']:,} processors allocated",
        "jobs": jobs,
        "ended jobs kept": f"for {duration(found['keep'])}" if found["keep"] else "for ever",
        "processes by": found["processes"],
        "memory limits by": found["memory_limits"],
    }
    rows |= {name: found[name] for name in ("trouble", "mail") if found[name]}
    rows |= {one.partition(" ")[0]: one.partition(" ")[2] for one in found.get("programs", ())}
    ahead = found.get("clock_ahead", 0)  # a controller that was started by an older rota does not tell
    if abs(ahead) >= _CLOCK_OFF:
        rows["clock"] = _about_clock(ahead)
    for one in found.get("short_of", ()):
        since, last = (time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(one[name])) for name in ("since", "last"))
        rows[f"short of {one['missing']}"] = f"{one['times']:,} times since {since}, last {last}: {one['what']}"
    for name, count in found["plugin_faults"].items():
        rows[f"fault of {name}"] = f"{count:,} times"
    for name, text in rows.items():
        echo(f"{name:<18}{text}")


def _about_clock(ahead: int) -> str:
    """Say how cluster time differs from the machine's clock, and what becomes of it."""
    if ahead < 0:
        return f"cluster time is {-ahead:,} s behind the machine's: it catches up if that stays so, while no job runs"
    return f"cluster time is {ahead:,} s ahead of the machine's: `rota down; rota up` puts it right while no job runs"


@click.command()
@state_option
def env(*, state: Path | None) -> None:
    """Print shell commands that put Slurm's commands for a live cluster on the path: eval "$(rota env)"."""
    directory = (state or known_state()).absolute()
    echo(f"export ROTA_STATE={shlex.quote(str(directory))}")
    echo(f'export PATH={shlex.quote(str(directory / "bin"))}:"$PATH"')


@click.command()
@state_option
@up_options
@click.option("--system", is_flag=True, help="For root, who starts it with the machine; else for a user.")
def unit(
    *,
    state: Path | None,
    conf: Path | None,
    keep: str | None,
    memory: str | None,
    database: str,
    http: bool,
    http_tcp: str,
    system: bool,
) -> None:
    """Print a systemd unit that keeps a live cluster up, with the options of `rota up`."""
    directory = (state or (_SYSTEM_STATE if system else default_state())).absolute()
    if keep:
        seconds_of(keep, "--keep")
    if memory:
        _bytes_of(memory)
    words = [sys.executable, "-m", "rota", "up", "--foreground", "--state", str(directory)]
    words += ["--config", str(conf.absolute())] if conf else []
    values = {"--keep": keep, "--memory": memory, "--database": database, "--http-tcp": http_tcp}
    for option, value in values.items():
        words += [option, value] if value else []
    words += ["--http"] if http else []
    target = "multi-user.target" if system else "default.target"
    echo(_UNIT.format(command=" ".join(map(_unit_word, words)), target=target), nl=False)


def _unit_word(word: str) -> str:
    """Quote a word as systemd reads it: as a string in C, with ``%`` and ``$`` written twice."""
    written = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{written}"' if written != word or not word or any(one.isspace() for one in word) else word


def _env_command(state: Path) -> str:
    option = "" if state == default_state() else f" --state {shlex.quote(str(state))}"
    return f'eval "$(rota env{option})"'


def ask(*words: str, state: Path | None = None) -> str:
    """Ask the controller of a live cluster, by default the user's; give its answer.

    Raises:
        InputError: there is none, or it refuses.
    """
    return _call((state or known_state()).absolute(), *words)


def _call(state: Path, *words: str) -> str:
    """Ask the controller; give its answer.

    Raises:
        InputError: there is none, or it refuses.
    """
    if not (state / "bin").exists():
        raise InputError("no cluster has been started there: start one with `rota up`", path=state)
    texts = {b"o": b"", b"e": b"", b"x": b""}
    try:
        with closing(thin.connect(bytes(state))) as connection:
            thin.send_call(connection, "rota-call", list(words))
            while not texts[b"x"]:
                letter, data = thin.frame(connection)
                texts[letter] += data  # no other letter: what somebody else's controller asks for is not done
    except (OSError, KeyError):
        raise InputError(
            "Unable to contact slurm controller (connect failure): `rota up` starts one", path=state
        ) from None
    if texts[b"x"] != b"0":
        raise InputError(texts[b"e"].decode().strip().partition("error: ")[2], path=state)
    return texts[b"o"].decode()


def _wait_until_unlocked(state: Path) -> None:
    import fcntl

    with (state / "lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def _become_daemon(sender: int) -> None:
    """Leave the terminal and the session; the only way to speak is ``sender``."""
    os.setsid()
    if os.fork():
        os._exit(0)
    null = os.open(os.devnull, os.O_RDWR)
    for file in (0, 1, 2):
        os.dup2(null, file)
    os.set_inheritable(sender, False)
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 - for as long as the process lives


def _warn(notices: list[str]) -> None:
    """Tell of damage that has been mended, and of programs that are not there."""
    for notice in notices:
        click.echo(f"rota: warning: {notice}", err=True)


def _tell(sender: int, text: str) -> None:
    os.write(sender, text.encode())
    os.close(sender)


def _told(receiver: int) -> str:
    """Give ``ok`` and lines of warnings, or what is wrong."""
    ready, _, _ = select.select([receiver], [], [], _PATIENCE)
    text = os.read(receiver, 65536).decode() if ready else ""
    return text or "the controller has not started: see controller.log in its state directory"
