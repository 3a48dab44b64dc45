"""Flux: ids such as ``ƒiFkbMhFM``, or the same in base 10, asked of ``flux jobs``.

Before 2.15.2 Lustre wrote the two bytes of ``ƒ`` as ``??``. ``flux jobs`` prints a list for several jobs, and the bare
object for one. Before 0.83 it says only the number ``id``, which is the same in base 10.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from rota.interfaces.jobmeta import Command, LookupFailedError, known, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rota.interfaces.jobmeta import Asking, Metadata

plugin_type = "jobmeta/flux_job_id"
plugin_name = "Flux"
plugin_version = 100
FIELDS = (
    "user", "uid", "account", "name", "partition", "state", "ended", "submit", "start", "end", "nodes", "cpus", "cwd",
)  # fmt: skip
COMMANDS = ("flux",)

_PATTERN = re.compile(r"(?:ƒ|f|\?\?)([1-9A-HJ-NP-Za-km-z]{1,12})")
#: In base 10 an id has the time in milliseconds above its lowest 24 bits, so that it is longer than others' numbers.
_DECIMAL = re.compile(r"[1-9][0-9]{10,18}")
_DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def matches(job_id: str) -> bool:
    """Whether it is Flux's base 58, or as long a number as Flux has."""
    return _PATTERN.fullmatch(job_id) is not None or _DECIMAL.fullmatch(job_id) is not None


def normalize(job_id: str) -> str:
    """Give it with the ASCII ``f``, which Flux understands in every locale."""
    if _DECIMAL.fullmatch(job_id) is not None:
        return _base58(int(job_id))
    found = _PATTERN.fullmatch(job_id)
    return f"f{found[1]}" if found else job_id


def fetch(ids: Sequence[str]) -> Asking:
    """Ask for all at once."""
    answer = yield Command(("flux", "jobs", "--json", "-A", "-a", "-c", "0", *ids), ok=(0, 1))  # 1: one is not known
    if answer.stdout.strip():
        yield from parse(answer.stdout)
    elif answer.returncode == 1 and "unknown" not in answer.stderr.lower():
        raise LookupFailedError(f"flux jobs: {answer.stderr.strip() or 'no answer'}")


def parse(text: str) -> Iterator[Metadata]:
    """Read what ``flux jobs --json`` has printed."""
    try:
        said = json.loads(text)
    except ValueError as exc:
        raise LookupFailedError(f"flux jobs printed no JSON that can be read: {exc}") from None
    said = said if isinstance(said, dict) else {}
    jobs = said.get("jobs", [said])
    found = [job for job in jobs if isinstance(job, dict) and ("jobid" in job or isinstance(job.get("id"), int))]
    if jobs and not found:
        raise unreadable("flux jobs", text)
    yield from map(_metadata, found)


def _base58(number: int) -> str:
    digits = ""
    while number or not digits:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return f"f{digits}"


def _metadata(job: dict[str, Any]) -> Metadata:
    state = job.get("status") or job.get("state")
    return known(
        id=job.get("jobid") or _base58(job["id"]),
        user=job.get("username"),
        uid=job.get("userid"),
        account=job.get("bank"),
        name=job.get("name"),
        partition=job.get("queue"),
        state=state,
        ended=job.get("state") == "INACTIVE",
        submit=job.get("t_submit"),
        start=job.get("t_run"),
        end=job.get("t_inactive"),
        nodes=job.get("nnodes"),
        cpus=job.get("ncores"),
        cwd=job.get("cwd"),
    )
