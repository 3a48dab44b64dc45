"""The words after ``scontrol show assoc_mgr``: ``accounts=``, ``flags=``, ``qos=`` and ``users=``.

Keys may be shortened to a letter and are of any case, as are the values but for the names of users. A key that is given
again adds to its list. Without ``flags=`` everything is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.commands.getopt import UsageError
from rota.commands.lists import split_list

if TYPE_CHECKING:
    from collections.abc import Sequence

_FLAGS = ("users", "assoc", "qos")
#: In the order in which a shortened key is looked up.
_KEYS = ("accounts", "flags", "qos", "users")


@dataclass(frozen=True, slots=True, kw_only=True)
class AssocMgrQuery:
    """What is asked for. An empty list lets everything through."""

    #: In lower case.
    accounts: frozenset[str] = frozenset()
    qos: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()
    #: Which records are shown: ``users``, ``assoc``, ``qos``.
    flags: frozenset[str] = frozenset(_FLAGS)


def parse_assoc_mgr(words: Sequence[str]) -> AssocMgrQuery:
    """Parse the words.

    Raises:
        UsageError: one has no value, or is none of these. Slurm's exit code for a missing value is 0.
    """
    found: dict[str, set[str]] = {key: set() for key in _KEYS}
    for word in words:
        key, _, value = word.partition("=")
        if not value:
            raise UsageError(f"No value given for option {word}\n", code=0)
        name = next((one for one in _KEYS if one.startswith(key.lower())), None) if key else None
        if name is None:
            raise UsageError(f"invalid entity: {word} for keyword:show assoc_mgr\n")
        if name == "flags":
            found[name].update(flag for flag in _FLAGS if flag in value.lower())
            if not found[name]:
                wrong = f"invalid flag '{value}', valid options are 'Assoc, QOS, and/or Users'\n"
                raise UsageError(wrong, code=0)
        else:
            found[name].update(split_list(value if name == "users" else value.lower()))
    return AssocMgrQuery(
        accounts=frozenset(found["accounts"]),
        qos=frozenset(found["qos"]),
        users=frozenset(found["users"]),
        flags=frozenset(found["flags"] or _FLAGS),
    )
