"""What a command line of sbatch asks for."""

from __future__ import annotations

from typing import Any

from rota.commands.sbatch import parse_request, split_words
from rota.model import JobSpec

PLAIN = JobSpec()


def different(options: str) -> dict[str, Any]:
    """Give what a request has that one without options has not."""
    found = parse_request(split_words(options))._asdict()
    return {name: value for name, value in found.items() if value != getattr(PLAIN, name)}
