"""Processes that belong to no job: the name of the program, and the user whose number is behind the last dot.

Lustre makes these ids where it finds no job (``%e.%u``): on login nodes, servers and for daemons. Linux keeps 15 bytes
of a program's name, so they are never cut. A user who is in no database is known by number.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rota.interfaces.jobmeta import LONGEST_ID, Command, whole_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.interfaces.jobmeta import Asking

plugin_type = "jobmeta/procname_uid"
plugin_name = "processes without a job, by program and user"
plugin_version = 100
FIELDS = ("name", "user", "uid")
TTL = 3600

_PATTERN = re.compile(r"(.+)\.([0-9]{1,10})", re.DOTALL)


def matches(job_id: str) -> bool:
    """Whether it is a name, a dot and a number."""
    return _PATTERN.fullmatch(job_id) is not None and len(job_id.encode(errors="replace")) < LONGEST_ID


def fetch(ids: Sequence[str]) -> Asking:
    """Ask the user database once for all users."""
    parts = {job_id: job_id.rpartition(".") for job_id in ids}
    uids = sorted({int(uid) for _, _, uid in parts.values()})
    answer = yield Command(("getent", "passwd", *map(str, uids)), ok=(0, 2))  # 2: not all of them were found
    lines = [line.split(":") for line in whole_lines(answer.stdout)]
    users = {line[2]: line[0] for line in lines if len(line) > 2}
    for job_id, (name, _, uid) in parts.items():
        number = int(uid)
        yield {"id": job_id, "name": name, "user": users.get(str(number), str(number)), "uid": number}
