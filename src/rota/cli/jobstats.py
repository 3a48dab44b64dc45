"""`rota jobstats`: who loads a Lustre file system. Each command is in a module of its own."""

from __future__ import annotations

import click

from rota.cli.jobstats_lookup import lookup
from rota.cli.jobstats_parse import parse
from rota.cli.jobstats_serve import serve


@click.group()
def jobstats() -> None:
    """Read what each job does to a Lustre file system, and whose job it is."""


jobstats.add_command(parse)
jobstats.add_command(lookup)
jobstats.add_command(serve)
