"""The format of ``sacctmgr dump``: a line for each record, ``Kind - 'name':Key=value:Key='value'``.

``Cluster`` comes first, after the lines of QOS that Slurm 25.05 and later write. ``Parent`` names the account to which
the following accounts and users belong, and which has to be defined before. A quote within a value is a backtick. What
people write for ``sacctmgr load`` can have more: comments behind ``#``, a backslash at the end of a line that goes on
in the next one, keys without a value, and changes of lists, ``QOS+=long``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rota.model.limits import TRES_LIMITS
from rota.sacctmgr.builder import Place, TreeBuilder
from rota.sacctmgr.keys import ASSOCIATION, LIMITS, QOS, find_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rota.accounting import AssociationTree
    from rota.model import Association

_LINE = re.compile(r"(?P<kind>\w+)\s*-\s*(?P<name>'[^']*'|\"[^\"]*\"|[^:'\"]+)\s*(?P<rest>.*)")
_PAIR = re.compile(r":\s*(?P<key>\w+)\s*(?P<change>[+-]?=)\s*(?P<value>'[^']*'|\"[^\"]*\"|[^:'\"]*)")
#: What stands before a comment: a # within quotes begins none.
_BEFORE_COMMENT = re.compile(r"(?:'[^']*'|\"[^\"]*\"|[^#'\"])*(?=#)")
#: Slurm writes GrpTRES=gres/gpu:a100=4 without quotes, and cannot load it.
_GRES_TYPE = re.compile(r":[\w.-]+=[^:'\"]*")
_QUOTED = frozenset(
    {"Description", "Organization", "DefaultQOS", "DefaultAccount", "AdminLevel", "Coordinator", "QOS", "Partition"}
)
#: Keys that have another name in dumps than in commands.
_DUMPED = {"MinPrioThreshold": "MinPrioThresh"}


def is_dump_line(text: str) -> bool:
    """Whether a line is from a dump."""
    return re.match(r"(QOS|Cluster|Parent|Account|User)\s*-\s", text) is not None


def read_dump(builder: TreeBuilder, text: str, path: Path) -> None:
    """Read a dump.

    Raises:
        InputError: a line cannot be used; the message names line and key.
    """
    parent = "root"
    for number, words in _lines(text):
        place = Place(path, number)
        kind, name, pairs = _parse(words, place)
        if kind == "Qos":
            qos = builder.add_qos(name)
            for key, change, value in pairs:
                builder.set_qos(qos, key, value, change, place)
            continue
        if kind == "Cluster":
            one = builder.begin_cluster(name, place)
        elif not builder.cluster:
            raise place.error("a line such as Cluster - 'name' must come first", kind)
        elif kind == "Parent":
            parent = builder.account(name, place, "Parent").account
            continue
        elif kind == "Account" and name.lower() == "root":  # some files name what is there already
            one = builder.account(name, place, "Account")
        elif kind == "Account":
            one = builder.add_account(name, parent, place)
        else:
            partition = next((value for key, _, value in reversed(pairs) if key == "Partition"), "")
            one = builder.add_user(name, parent, partition, place)
        for key, change, value in pairs:
            if key != "Partition":
                builder.set_association(one, key, value, change, place)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Give the lines that have something, without comments, joined where one goes on; with the number of the first."""
    begun, words = 0, ""
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        before = _BEFORE_COMMENT.match(line)
        part = (line if before is None else before[0]).rstrip()
        begun = begun or number
        words += part.removesuffix("\\")
        if not part.endswith("\\"):
            if words.strip():
                yield begun, words.strip()
            begun, words = 0, ""


def _parse(text: str, place: Place) -> tuple[str, str, list[tuple[str, str, str]]]:
    match = _LINE.fullmatch(text)
    kind = match["kind"].capitalize() if match else ""
    if match is None or kind not in {"Qos", "Cluster", "Parent", "Account", "User"}:
        raise place.error(f"{text[:60]!r} is none of QOS, Cluster, Parent, Account, User - 'name':Key=value…")
    pairs: list[tuple[str, str, str]] = []
    position, rest = 0, match["rest"]
    while position < len(rest):
        gres_type = _GRES_TYPE.match(rest, position) if pairs and _is_cut(*pairs[-1][::2]) else None
        if gres_type is not None:
            pairs[-1] = (*pairs[-1][:2], pairs[-1][2] + gres_type[0])
            position = gres_type.end()
            continue
        pair = _PAIR.match(rest, position)
        if pair is None:
            raise place.error(f"{rest[position : position + 40]!r} is not :Key=value; are the quotes closed?", kind)
        key = find_key(pair["key"], QOS if kind == "Qos" else ASSOCIATION)
        if key is None:
            raise place.error("no key of sacctmgr", pair["key"])
        value = _unquoted(pair["value"])
        if value:  # sacctmgr passes over keys without one
            pairs.append((key, pair["change"], value.replace("`", "'")))
        position = pair.end()
    return kind, _unquoted(match["name"].strip()), pairs


def _is_cut(key: str, value: str) -> bool:
    """Whether a limit ends after the name of a GRES."""
    return key in TRES_LIMITS and re.fullmatch(r"gres/\w+", value.rpartition(",")[2].strip()) is not None


def _unquoted(text: str) -> str:
    return text[1:-1] if text[:1] in {"'", '"'} else text.strip()


def write_dump(tree: AssociationTree) -> str:
    """Write a tree as ``sacctmgr dump`` does, without its introduction; ``sacctmgr load`` accepts it.

    Limits on TRES with types of GRES are quoted, and memory is in whole units, since Slurm cannot load what it writes
    of these itself. Slurm 22.05 does not dump the priority threshold.
    """
    children: dict[int, list[Association]] = {}
    for one, _ in tree.hierarchy():
        children.setdefault(one.parent_id, []).append(one)
    lines = [f"Cluster - '{tree.cluster}'{_pairs(tree, tree.root)}", *_section(tree, tree.root, children)]
    return "".join(f"{line}\n" for line in lines)


def _section(tree: AssociationTree, above: Association, children: dict[int, list[Association]]) -> Iterator[str]:
    below = children.get(above.id, [])
    if not below:
        return
    yield f"Parent - '{above.account}'"
    for one in below:
        yield f"{'User' if one.user else 'Account'} - '{one.user or one.account}'{_pairs(tree, one)}"
    for one in below:
        if not one.user:
            yield from _section(tree, one, children)


def _pairs(tree: AssociationTree, one: Association) -> str:
    values: dict[str, str] = {}
    if one.user:
        user = tree.users[one.user]
        values["Partition"] = one.partition
        values["DefaultAccount"] = user.default_account
        values["AdminLevel"] = "" if user.admin_level == "None" else user.admin_level
        values["Coordinator"] = ",".join(user.coordinator)
    elif one.parent_id:
        account = tree.accounts[one.account]
        values["Description"], values["Organization"] = account.description, account.organization
    values["DefaultQOS"] = one.default_qos
    values["Fairshare"] = str(one.shares_raw)
    values |= {_DUMPED.get(key, key): one.limits.get(key, "") for key in LIMITS}
    values["Priority"] = str(one.priority or "")
    values["QOS"] = ",".join(one.qos)
    written = {key: value.replace("'", "`") for key, value in values.items() if value}
    return "".join(
        f":{key}='{value}'" if key in _QUOTED or ":" in value else f":{key}={value}" for key, value in written.items()
    )
