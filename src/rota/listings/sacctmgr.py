"""``sacctmgr list``: accounts, associations, QOS, TRES and users. Its other commands change the cluster.

Values that an association inherits from the accounts above it are shown, unless ``wopinfo`` or ``woplimits`` is given.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from rota.commands.getopt import UsageError
from rota.commands.sacctmgr import USAGE, Line, Setting, not_supported, parse_sacctmgr, parse_words
from rota.config.hostlist import fold_sorted
from rota.listings.answer import VERSION, Answer
from rota.listings.sacct_table import put
from rota.listings.sacctmgr_fields import ALIASES, DEFAULT, FIELDS, QOS_FIELDS, Row
from rota.listings.sacctmgr_tree import Inherited
from rota.listings.text import tres_text
from rota.model.tres import STATIC_TRES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rota.listings.sacctmgr_fields import Field
    from rota.listings.view import View
    from rota.model import Association

_FORMAT = re.compile(r"(?P<name>[^%]*)(%(?P<width>-?\d*).*)?")
#: Words that change what is listed, and the fewest letters of each.
_FLAGS = {
    "onlydefaults": 2,
    "tree": 4,
    "withassoc": 5,
    "withcoordinators": 5,
    "wolimits": 3,
    "wopinfo": 4,
    "woplimits": 4,
    "withsubaccounts": 5,
}
#: Such words that rota does not carry out, and the fewest letters of each.
_REFUSED = {"withclusters": 6, "withdeleted": 5, "withfed": 5, "withrawqoslevel": 5}
_HINT = " Use keyword 'set' to modify value\n"
#: Fields that rota does not show: places in Slurm's tree, and numbers of QOS.
_REFUSED_FIELDS = ("lft", "rgt", "qosraw")
#: First number of TRES that are not Slurm's own.
_FIRST_GRES = 1001


class _Asked:
    """What is asked for: names, conditions, and words that change the listing."""

    def __init__(self, line: Line, known: tuple[str, ...], hint: str = "") -> None:
        words = parse_words(line.words, setting=False)
        for name in words.names:
            if refused := _find(name, _REFUSED):
                raise not_supported(refused)
        self.flags = {flag for name in words.names if (flag := _find(name, _FLAGS))}
        self.names = [name for name in words.names if not _find(name, _FLAGS)]
        self.format = ""
        self._given: dict[str, list[str]] = {}
        for one in (*words.where, *words.settings):
            key = _condition(one, known)
            if key == "Format":
                self.format = f"{self.format},{one.value}" if self.format else one.value
                if not one.value:
                    raise UsageError("Unknown field ''\n")
            elif key is None:
                raise UsageError(f" Unknown condition: {one.word}\n{hint}")
            else:
                # ``user=`` are the associations of accounts.
                self.add(key, one.names or ([""] if key == "Users" else []))
        if line.options.has("associations"):
            self.flags.add("withassoc")

    def allows(self, key: str, *values: str) -> bool:
        """Whether one of the values is among those asked for, if any are."""
        wanted = self._given.get(key)
        return not wanted or any(value.lower() in wanted for value in values)

    def chooses(self, one: Association, tree: Inherited) -> bool:
        """Whether an association is among those asked for."""
        if not self._given:
            return True
        shown = tree.shown(one)
        return (
            self.allows("Accounts", one.account)
            and self.allows("Users", one.user)
            and self.allows("Partitions", one.partition)
            and self.allows("Parents", tree.parent(one))
            and self.allows("QOS", *shown.qos)
            and self.allows("DefaultQOS", shown.default_qos)
        )

    def require_associations(self, *keys: str) -> None:
        """Check that associations are asked for if there are conditions about them.

        Raises:
            UsageError: they are not.
        """
        if "withassoc" not in self.flags and not self._given.keys().isdisjoint(keys):
            raise UsageError("You requested options that are only valid when querying with the withassoc option.\n")

    def given(self, key: str) -> Sequence[str]:
        """Give what is asked for by a key."""
        return self._given.get(key, [])

    def add(self, key: str, values: Iterable[str]) -> None:
        """Ask for more."""
        self._given.setdefault(key, []).extend(values)

    def named(self, name: str) -> bool:
        """Whether a name is among those asked for, if any are."""
        wanted = self.names + self._given.get("Names", [])
        return not wanted or name in wanted


def _find(word: str, known: Mapping[str, int]) -> str:
    """Find a word that may be abbreviated; empty: it is none of them."""
    return next((name for name, least in known.items() if len(word) >= least and name.startswith(word)), "")


def _condition(one: Setting, known: tuple[str, ...]) -> str | None:
    short = one.key.lower()
    found = (name for name in ("Format", *known) if short and name.lower().startswith(short.rstrip("s") or short))
    return next(found, None)


def sacctmgr(argv: Sequence[str], environ: Mapping[str, str], view: View) -> Answer:  # noqa: ARG001 -- as all commands
    """Evaluate a command line of ``sacctmgr`` that changes nothing.

    Args:
        argv: The words after ``sacctmgr``.
        environ: The user's environment.
        view: The cluster.

    Raises:
        UsageError: the command line is refused.
    """
    line = parse_sacctmgr(argv)
    if line.command == "version":
        return Answer(f"{VERSION}\n")
    if line.command == "help":
        return Answer(USAGE)
    if line.command != "list":
        raise not_supported(f"{line.command} here")
    lists: dict[str, Callable[[Line, View], Answer]] = {
        "account": _accounts,
        "association": _associations,
        "cluster": _clusters,
        "configuration": _configuration,
        "qos": _qos,
        "tres": _tres,
        "user": _users,
    }
    return lists[line.entity](line, view)


# ---- entities --------------------------------------------------------------------------------------------------


def _accounts(line: Line, view: View) -> Answer:
    known = ("Names", "Accounts", "Clusters", "Descriptions", "Organizations", "Parents", "Users", "QOS", "DefaultQOS")
    asked = _Asked(line, known, _HINT)
    asked.require_associations("Parents", "Users", "QOS", "DefaultQOS")
    with_associations = "withassoc" in asked.flags
    cluster = view.config.cluster_name
    tree = Inherited(view)
    rows = []
    privacy, seen = view.privacy, tree.seen(view.privacy)
    if "accounts" in privacy.kinds and not privacy.coordinated:
        raise UsageError("sacctmgr: error: Access/permission denied\n Problem with query.\n")
    for account in sorted(view.accounting().accounts, key=lambda one: one.name):
        if not (
            ("accounts" not in privacy.kinds or account.name in privacy.coordinated)
            and asked.named(account.name)
            and asked.allows("Accounts", account.name)
            and asked.allows("Clusters", cluster)
            and asked.allows("Descriptions", account.description)
            and asked.allows("Organizations", account.organization)
        ):
            continue
        row = Row(account=account, coordinators=_coordinators(asked, view, tree, account.name))
        if with_associations:
            rows += [
                row._replace(cluster=cluster, association=tree.shown(one), parent=tree.parent(one))
                for one in tree.of_account(account.name)
                if (one.id in seen or not one.user) and asked.chooses(one, tree)
            ]
        else:
            rows.append(row)
    form = DEFAULT["account withassoc" if with_associations else "account"]
    if "withcoordinators" in asked.flags:
        form += ",Coordinators"
    return _table(line, asked.format or form, rows)


def _users(line: Line, view: View) -> Answer:
    known = (
        "Names",
        "Users",
        "DefaultAccounts",
        "AdminLevel",
        "Accounts",
        "Clusters",
        "Partitions",
        "QOS",
        "DefaultQOS",
    )
    asked = _Asked(line, known, _HINT)
    asked.require_associations("QOS", "DefaultQOS")
    with_associations = "withassoc" in asked.flags
    cluster = view.config.cluster_name
    tree = Inherited(view)
    rows = []
    for user in sorted(view.accounting().users, key=lambda one: one.name):
        if not (
            view.privacy.shows("users", user.name)
            and asked.named(user.name)
            and asked.allows("Users", user.name)
            and asked.allows("Clusters", cluster)
            and asked.allows("DefaultAccounts", user.default_account)
            and asked.allows("AdminLevel", user.admin_level, user.admin_level[:5], user.admin_level[:4])
        ):
            continue
        coordinated = tree.coordinated(user.coordinator) if "withcoordinators" in asked.flags else ()
        row = Row(user=user, coordinators=tuple(sorted(coordinated)))
        chosen = [one for one in tree.of_user(user.name) if asked.chooses(one, tree)]
        if with_associations:
            rows += [row._replace(cluster=cluster, association=tree.shown(one)) for one in chosen]
        elif chosen or asked.allows("Accounts", ""):
            rows.append(row)
    form = DEFAULT["user withassoc" if with_associations else "user"]
    if "withcoordinators" in asked.flags:
        form += ",Coordinators"
    return _table(line, asked.format or form, rows)


def _coordinators(asked: _Asked, view: View, tree: Inherited, account: str) -> tuple[str, ...]:
    """Name the coordinators of an account, if they are asked for."""
    if "withcoordinators" not in asked.flags:
        return ()
    return tuple(sorted(one.name for one in view.accounting().users if account in tree.coordinated(one.coordinator)))


def _associations(line: Line, view: View) -> Answer:
    known = ("Accounts", "Users", "Partitions", "Clusters", "QOS", "QosLevel", "ID", "Parents", "DefaultQOS")
    asked, tree = _Asked(line, known), Inherited(view)
    if "withsubaccounts" in asked.flags:
        asked.add("Accounts", tree.below(asked.given("Accounts")))
    if asked.names:
        raise UsageError(f"sacctmgr: error: Invalid value for AssocId ({asked.names[0]})\n")
    cluster = view.config.cluster_name
    own = bool(asked.flags & {"wopinfo", "woplimits"})
    default = {user.name: user.default_account for user in view.accounting().users}
    rows = []
    depths: dict[int, int] = {}
    seen = tree.seen(view.privacy)
    for one in tree.all:
        shown = tree.shown(one)
        if not (
            one.id in seen
            and asked.chooses(one, tree)
            and asked.allows("Clusters", cluster)
            and asked.allows("ID", str(one.id))
        ):
            continue
        if "onlydefaults" in asked.flags and default.get(one.user, "") != one.account:
            continue
        # Accounts below one that is not shown begin at the left margin.
        depth = depths[one.id] = depths.get(one.parent_id, -1) + 1
        kept = replace(one, qos=tuple(name.lstrip("+-") for name in one.qos)) if own else shown
        rows.append(Row(cluster, kept, parent=tree.parent(one), depth=depth if "tree" in asked.flags else 0))
    form = DEFAULT["association wolimits" if "wolimits" in asked.flags else "association"]
    if "tree" in asked.flags:
        form = re.sub(r"\bAccount\b(?!%)", "Account%-20", asked.format or form, flags=re.IGNORECASE)
        return _table(line, form, rows)
    return _table(line, asked.format or form, rows)


def _clusters(line: Line, view: View) -> Answer:
    asked = _Asked(line, ("Names", "Clusters", "Classification", "Flags"), _HINT)
    cluster = view.config.cluster_name
    tree = Inherited(view)
    nodes = view.nodes()
    totals = {"cpu": sum(node.cpus for node in nodes), "mem": sum(node.memory for node in nodes), "node": len(nodes)}
    facts = {
        "ControlHost": view.config.get("SlurmctldHost"),
        "ControlPort": "0",
        "RPC": "9728",
        "NodeCount": str(len(nodes)),
        "ClusterNodes": fold_sorted(node.name for node in nodes),
        "TRES": tres_text(totals),
    }
    shown = asked.named(cluster.lower()) and asked.allows("Clusters", cluster)
    rows = [Row(cluster, tree.shown(tree.all[0]), facts=facts)] if shown else []
    return _table(line, asked.format or DEFAULT["cluster"], rows)


def _qos(line: Line, view: View) -> Answer:
    asked = _Asked(line, ("Names", "ID", "Descriptions"), _HINT)
    rows = [
        Row(qos=one)
        for one in sorted(view.accounting().qos, key=lambda one: one.id)
        if asked.named(one.name) and asked.allows("ID", str(one.id)) and asked.allows("Descriptions", one.description)
    ]
    return _table(line, asked.format or DEFAULT["qos"], rows, QOS_FIELDS)


def _tres(line: Line, view: View) -> Answer:
    asked = _Asked(line, ("Names", "Type", "ID"), _HINT)
    rows = []
    for number, name in enumerate(view.tres, start=1):
        own = number if name in STATIC_TRES else _FIRST_GRES + number - len(STATIC_TRES) - 1
        kind, _, rest = name.partition("/")
        if asked.named(rest) and asked.allows("Type", kind) and asked.allows("ID", str(own)):
            rows.append(Row(tres=(name, own)))
    return _table(line, asked.format or DEFAULT["tres"], rows)


def _configuration(_line: Line, view: View) -> Answer:
    names = ("AccountingStorageEnforce", "AccountingStorageTRES", "AccountingStorageType", "AuthType", "PrivateData")
    lines = (f"{name:<22} = {view.config.get(name) or '(null)'}\n" for name in names)
    return Answer("".join(lines))


# ---- tables ----------------------------------------------------------------------------------------------------


def _table(line: Line, form: str, rows: list[Row], known: Mapping[str, Field] = FIELDS) -> Answer:
    fields = []
    for word in filter(str.strip, form.split(",")):
        match = _FORMAT.fullmatch(word.strip())
        field = _field(match["name"] if match else "", known)
        if any(word.strip().lower().startswith(one) for one in _REFUSED_FIELDS):
            raise not_supported(f"format={word.strip()}")
        if match is None or field is None:
            raise UsageError(f"Unknown field '{word.strip().partition('%')[0]}'\n")
        width = match["width"] or ""
        fields.append((field.heading, (int(width) if width.strip("-") else 0) or field.width, field.text))
    return Answer(put(fields, rows, line.options))


def _field(word: str, known: Mapping[str, Field]) -> Field | None:
    """Find a field by its name or the beginning of it; those of other kinds of records are empty, as in Slurm."""
    if name := _full_name(word, known):
        return known[name]
    others = FIELDS if known is QOS_FIELDS else QOS_FIELDS
    name = _full_name(word, others)
    return others[name]._replace(text=lambda _row: "") if name else None


def _full_name(word: str, known: Mapping[str, Field]) -> str | None:
    short = word.lower()
    if (alias := ALIASES.get(short)) in known:
        return alias
    found = [name for name in known if short and name.lower().startswith(short)]
    return min(found, key=len, default=None)
