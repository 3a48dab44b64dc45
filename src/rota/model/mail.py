"""Mail about jobs: its types, as ``--mail-type`` names them, and a letter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: All types, in the order in which Slurm lists them. With ARRAY_TASKS each task of a job array has letters of its own.
MAIL_TYPES = (
    "ARRAY_TASKS",
    "INVALID_DEPEND",
    "BEGIN",
    "END",
    "FAIL",
    "REQUEUE",
    "STAGE_OUT",
    "TIME_LIMIT_50",
    "TIME_LIMIT_80",
    "TIME_LIMIT_90",
    "TIME_LIMIT",
)
_ALL = frozenset({"BEGIN", "END", "FAIL", "INVALID_DEPEND", "REQUEUE", "STAGE_OUT"})


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter without a body, as Slurm's have none."""

    #: To whom it is addressed, one or more addresses with commas.
    to: str
    subject: str
    #: What the program that sends it finds in its environment.
    environment: Mapping[str, str]


def parse_mail_types(text: str) -> tuple[str, ...]:
    """Parse the value of ``--mail-type``; nothing for NONE. As in Slurm, other words are of no account beside types.

    Raises:
        ValueError: no word of it is a type.
    """
    words = {word.strip().upper() for word in text.split(",")} & {*MAIL_TYPES, "ALL", "NONE"}
    if not words:
        raise ValueError("it is a list of NONE, ALL, " + ", ".join(MAIL_TYPES))
    if "NONE" in words:
        return ()
    wanted = words | (_ALL if "ALL" in words else set())
    return tuple(one for one in MAIL_TYPES if one in wanted)
