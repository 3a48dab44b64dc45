"""``salloc`` of a live cluster: resources for a command that runs where ``salloc`` does."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from rota.commands.allocation import LETTERS, TABLE, allocation, read_salloc
from rota.commands.script_environment import options_environment
from rota.commands.signals import signal_number
from rota.commands.submission import quietness
from rota.controller.allocations import Messages, allocate, allocation_spec, held
from rota.controller.run_environment import allocation_environment
from rota.controller.submitting import client_of, telling_problems, with_host_files
from rota.controller.zone import utc_offset_for
from rota.listings.answer import VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.controller.cluster import Cluster
    from rota.controller.wire import Call, Terminal

_HELP = (
    "Usage: salloc [OPTIONS(0)...] [command(0) [args(0)...]]\n\n"
    "The options are those of Slurm 22.05; the reference in rota's documentation lists them.\n"
)
_REVOKED = "Job allocation {job} has been revoked."
_MESSAGES = Messages(
    queued="salloc: Pending job allocation {job}\nsalloc: job {job} queued and waiting for resources\n",
    allocated="salloc: job {job} has been allocated resources\n",
    cancelled=f"salloc: Job has been cancelled\nsalloc: {_REVOKED}\n",
    refused="Job submit/allocate failed",
    busy=("error: Unable to allocate resources: Requested nodes are busy", _REVOKED),
    late=("error: Unable to allocate resources: Connection timed out", _REVOKED),
)


async def salloc(cluster: Cluster, call: Call, terminal: Terminal) -> int | None:
    """Allocate resources, and let the client run a command with them; give the exit status."""

    async def command() -> int | None:
        words = await with_host_files(call, terminal, TABLE, LETTERS)
        options = read_salloc(words, call.environment, call.uid)
        terminal.is_hushed = quietness(options.texts) > 1
        if {"help", "usage", "version"} & options.texts.keys():
            terminal.out(f"{VERSION}\n" if "version" in options.texts else _HELP)
            return 0
        argv = options.rest or [call.environment.get("SHELL") or "/bin/sh"]
        quiet = "quiet" in options.texts
        no_shell = "no-shell" in options.texts
        clock, utc_offset = cluster.clock, utc_offset_for(cluster, call)
        name = "no-shell" if no_shell else "interactive"
        wanted = allocation(call.words, options, client_of(call), name=name, now=clock.now(), utc_offset=utc_offset)
        job = await allocate(cluster, call, terminal, wanted, _MESSAGES)
        if job is None:
            terminal.error("salloc: error: Job allocation has been revoked.\n")
            return 1
        if not quiet:
            terminal.error(f"salloc: Granted job allocation {job.job_id}\n")
        if no_shell:
            return 0
        run = cluster.runs.run_of(job.job_id, job.restart_count)
        more = {
            "argv": argv,
            "env": {
                **options_environment(wanted.spec, wanted.texts),
                **(allocation_environment(run, wanted, cluster.name, cluster.conf) if run else {}),
            },
            "quiet": quietness(options.texts),
            "kill": _kill_signal(options.texts),
        }
        cwd = options.texts.get("chdir", "")
        terminal.become("allocation", allocation_spec(cluster, call, job, hold=True, cwd=cwd, **more))
        await held(cluster, terminal, job.job_id)
        return 0

    return await telling_problems("salloc", terminal, command)


def _kill_signal(texts: Mapping[str, str]) -> int:
    """Give the signal for the command of an allocation that is taken away; 0: only one at a terminal is told."""
    text = texts.get("kill-command")
    if text is None:
        return 0
    number = int(text) if text.isascii() and text.isdigit() else signal_number(text) or 0
    return number if 0 < number < signal.NSIG else signal.SIGTERM
