"""LoadLeveler, which IBM no longer sells: ids such as ``fr2n02.32.0``, asked of ``llq``.

It was tested with recorded answers only. An id with a domain (``fr2n02.example.org.32.0``) is the same job as without.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rota.interfaces.jobmeta import LONGEST_ID, Command, known

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rota.interfaces.jobmeta import Asking, Metadata

plugin_type = "jobmeta/loadl_step_id"
plugin_name = "LoadLeveler"
plugin_version = 100
FIELDS = ("user", "group", "account", "name", "partition", "state", "ended", "cwd")
COMMANDS = ("llq",)

_PATTERN = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)(?:\.[A-Za-z0-9_-]*[A-Za-z_-][A-Za-z0-9_-]*)*\.([0-9]+)\.([0-9]+)")
_ENDED = frozenset({"Completed", "Removed", "Terminated", "Vacated", "Canceled", "C", "RM", "TX", "V", "CA"})


def matches(job_id: str) -> bool:
    """Whether it is a host, a job's number and a step's. What may have been cut is none."""
    return _PATTERN.fullmatch(job_id) is not None and len(job_id) < LONGEST_ID


def normalize(job_id: str) -> str:
    """Give it without the domain."""
    found = _PATTERN.fullmatch(job_id)
    return ".".join(found.groups()) if found else job_id


def fetch(ids: Sequence[str]) -> Asking:
    """Ask for all at once."""
    answer = yield Command(("llq", "-l", *ids))
    yield from parse(answer.stdout)


def parse(text: str) -> Iterator[Metadata]:
    """Read what ``llq -l``, ``llq -r %id %o %jn %c %st`` or plain ``llq`` has printed."""
    if "Job Step Id:" in text:
        return _long(text)
    return _raw(text) if "!" in text else _table(text)


def _long(text: str) -> Iterator[Metadata]:
    for block in re.split(r"^=+ Job Step .* =+$", text, flags=re.MULTILINE)[1:]:
        lines = (line.partition(":") for line in block.splitlines())
        fields = {name.strip(): value.strip() for name, _, value in reversed(list(lines))}  # the first one counts
        state = fields.get("Status")
        yield known(
            id=fields.get("Job Step Id"),
            user=fields.get("Owner"),
            group=fields.get("Unix Group"),
            account=fields.get("Account"),
            name=fields.get("Job Name"),
            partition=fields.get("Class"),
            state=state,
            ended=state in _ENDED,
            cwd=fields.get("Initial Working Dir"),
        )


def _raw(text: str) -> Iterator[Metadata]:
    for line in text.splitlines():
        if len(parts := line.split("!")) == 5:
            yield known(
                id=parts[0], user=parts[1], name=parts[2], partition=parts[3], state=parts[4], ended=parts[4] in _ENDED
            )


def _table(text: str) -> Iterator[Metadata]:
    for line in text.splitlines():
        parts = line.split()
        if len(parts) > 6 and matches(parts[0]):
            yield known(id=parts[0], user=parts[1], state=parts[4], partition=parts[6], ended=parts[4] in _ENDED)
