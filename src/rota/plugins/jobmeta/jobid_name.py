"""Ids that are made of parts: a job, a user, a host, a program, as Lustre's ``jobid_name`` says.

With the format (``%j@%u@%H``) ids are taken apart by it. Without, three parts with ``@`` between them are understood: a
job or a program, a user's number, and a host. ``job`` in the answer has rota look up the job as well.

Formats: ``%e`` program, ``%g`` group number, ``%h`` host, ``%H`` host without domain, ``%j`` job, ``%p`` process,
``%u`` user number; with widths (``%.8e``) and alternatives (``%j?%H``).

Of an id that has all of the 31 bytes that Lustre keeps, the last part may be cut, and is left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rota.interfaces.jobmeta import LONGEST_ID, Command, known, whole_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.interfaces.jobmeta import Asking

plugin_type = "jobmeta/jobid_name"
plugin_name = "ids made of a job, a user and a host"
plugin_version = 100
FIELDS = ("job", "name", "user", "uid", "gid", "host", "pid")
TTL = 3600

#: For each letter of a format: the field, and the form of its text.
_PARTS = {
    "e": ("name", r".*?"),
    "g": ("gid", r"[0-9]{1,10}"),
    "h": ("host", r"[A-Za-z0-9._-]*"),
    "H": ("host", r"[A-Za-z0-9_-]*"),
    "j": ("job", r".*?"),
    "p": ("pid", r"[0-9]{1,10}"),
    "u": ("uid", r"[0-9]{1,10}"),
}
_NUMBERS = frozenset({"gid", "pid", "uid"})
_TOKEN = re.compile(r"%\.?[0-9]*([eghHjpu])")
_UNKNOWN = [
    re.compile(r"(?P<job>(?:[0-9ƒ][^@]*)?)(?:@(?P<uid>[0-9]{1,10})(?:@(?P<host>[A-Za-z0-9._-]+))?)?"),
    re.compile(r"(?P<name>[^@]+)(?:@(?P<uid>[0-9]{1,10})(?:@(?P<host>[A-Za-z0-9._-]+))?)?"),
]

_patterns = _UNKNOWN


def use_format(jobid_name: str) -> None:
    """Take ids apart by this format from now on."""
    global _patterns
    # A job alone can look like anything, so that the alternative with the most parts is tried first.
    _patterns = sorted(map(_pattern, jobid_name.split("?")), key=lambda pattern: -pattern.groups)


def matches(job_id: str) -> bool:
    """Whether it has the parts of the format."""
    return _take_apart(job_id) is not None


def fetch(ids: Sequence[str]) -> Asking:
    """Take ids apart, and ask the user database once for all users."""
    parts = {job_id: _take_apart(job_id) or {} for job_id in ids}
    uids = sorted({fields["uid"] for fields in parts.values() if "uid" in fields})
    users: dict[str, str] = {}
    if uids:
        answer = yield Command(("getent", "passwd", *map(str, uids)), ok=(0, 2))  # 2: not all of them were found
        lines = [line.split(":") for line in whole_lines(answer.stdout)]
        users = {line[2]: line[0] for line in lines if len(line) > 2}
    for job_id, fields in parts.items():
        uid = str(fields.get("uid", ""))
        yield known(id=job_id, **fields, user=users.get(uid, uid))


def _take_apart(job_id: str) -> dict[str, Any] | None:
    """Give the parts of an id; ``None`` if it is made in another way."""
    whole = len(job_id.encode(errors="replace")) < LONGEST_ID
    for pattern in _patterns:
        found = pattern.fullmatch(job_id)
        if found is None:
            continue
        fields = {name: text for name, text in found.groupdict().items() if text is not None}
        if whole and len(fields) < len(pattern.groupindex):
            continue
        if not whole:
            fields.pop(found.lastgroup or "", None)
        if not fields:
            continue
        return {name: int(text) if name in _NUMBERS else text for name, text in fields.items()}
    return None


def _pattern(text: str) -> re.Pattern[str]:
    """Make the pattern of one alternative. Of a cut id any number of parts may be missing at the end."""
    pieces = _TOKEN.split(text)
    pattern, closing = re.escape(pieces[0]), ""
    seen: set[str] = set()
    for letter, literal in zip(pieces[1::2], pieces[2::2], strict=True):
        name, form = _PARTS[letter]
        pattern += f"(?P<{name}>{form})" if name not in seen else form
        seen.add(name)
        pattern += f"(?:{re.escape(literal)}" if literal else "(?:"
        closing += ")?"
    return re.compile(pattern + closing, re.DOTALL)
