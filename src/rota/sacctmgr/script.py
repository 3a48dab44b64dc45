"""Scripts of ``sacctmgr`` commands: ``add account name=a fairshare=10``, ``modify user where name=u set qos=x``.

``list`` and ``show`` are ignored. As in sacctmgr, commands, entities and keys may be abbreviated, and several names are
separated by commas.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from rota.config.options import did_you_mean
from rota.sacctmgr.builder import Place, TreeBuilder
from rota.sacctmgr.keys import ASSOCIATION, QOS, find_key

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_VERBS = {
    "add": "add",
    "create": "add",
    "modify": "modify",
    "update": "modify",
    "delete": "delete",
    "remove": "delete",
    "list": "list",
    "show": "list",
    "exit": "list",
    "quit": "list",
}
_ENTITIES = ("account", "association", "cluster", "coordinator", "qos", "user")
_PAIR = re.compile(r"(?P<key>\w+)(?P<change>[+-]?=)(?P<value>.*)", re.DOTALL)


class _Setting(NamedTuple):
    key: str
    change: str
    value: str


class _Command(NamedTuple):
    """A command: the names and conditions that select records, and the settings."""

    names: list[str]
    where: list[_Setting]
    settings: list[_Setting]

    def words(self, key: str) -> list[str]:
        """Give the names that a condition lists."""
        return [word for one in self.where if one.key == key for word in _split(one.value)]


def read_script(builder: TreeBuilder, text: str, path: Path) -> None:
    """Execute a script.

    Raises:
        InputError: a command cannot be used; the message names line and key.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        place = Place(path, number)
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise place.error(f"{error}: close the quotes") from None
        if words[:1] == ["sacctmgr"]:
            words = [word for word in words[1:] if not word.startswith("-")]
        if words:
            run_command(builder, words, place)


def run_command(builder: TreeBuilder, words: Sequence[str], place: Place) -> None:
    """Execute a command.

    Raises:
        InputError: it cannot be used.
    """
    verb = next((full for name, full in _VERBS.items() if name.startswith(words[0].lower())), None)
    if verb is None:
        raise place.error(f"{words[0]!r} is no command: there are {', '.join(_VERBS)}")
    if verb == "list":
        return
    entity_word = words[1].lower() if len(words) > 1 else ""
    entity = next((name for name in _ENTITIES if entity_word and name.startswith(entity_word.rstrip("s") or "s")), None)
    if entity is None:
        raise place.error(f"{entity_word!r} is nothing that can be {verb}ed: there are {', '.join(_ENTITIES)}")
    command = _parse(words[2:], verb, entity, place)
    if entity == "qos":
        _run_qos(builder, verb, command, place)
    elif entity == "cluster":
        for name in command.names:
            root = builder.begin_cluster(name, place)
            if verb == "add":
                root.qos = root.qos or ("normal",)
            for one in command.settings:
                builder.set_association(root, one.key, one.value, one.change, place)
    elif entity == "coordinator":
        _coordinate(builder, verb, command, place)
    elif verb == "add":
        add = _add_accounts if entity == "account" else _add_users
        add(builder, command, place)
    else:
        _change(builder, verb, entity, command, place)


def _parse(words: Sequence[str], verb: str, entity: str, place: Place) -> _Command:
    names: list[str] = []
    where: list[_Setting] = []
    settings: list[_Setting] = []
    known = QOS if entity == "qos" else ASSOCIATION
    setting = verb == "add"
    for word in words:
        if word.lower() in {"where", "set"}:
            setting = word.lower() == "set"
            continue
        match = _PAIR.fullmatch(word)
        if match is None:
            names += _split(word)
            continue
        key = find_key(match["key"], known)
        if key is None:
            raise place.error(f"no key of {entity}{did_you_mean(match['key'], known)}", match["key"])
        if key == "Names" or (key == "Users" and entity == "user"):
            names += _split(match["value"])
        else:
            (settings if setting else where).append(_Setting(key, match["change"], match["value"]))
    if verb != "modify" and not names and not where:
        raise place.error(f"names no {entity}: write name=…")
    return _Command(names, where, settings)


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _run_qos(builder: TreeBuilder, verb: str, command: _Command, place: Place) -> None:
    for name in command.names or list(builder.qos):
        if verb == "delete":
            builder.remove_qos(name)
            continue
        if verb == "modify" and name.lower() not in builder.qos:
            raise place.error(f"there is no QOS {name!r}: add it first")
        qos = builder.add_qos(name)
        for one in command.settings:
            builder.set_qos(qos, one.key, one.value, one.change, place)


def _add_accounts(builder: TreeBuilder, command: _Command, place: Place) -> None:
    parent = next((one.value for one in command.settings if one.key == "Parent"), "root")
    for name in command.names:
        account = builder.add_account(name, parent, place)
        for one in command.settings:
            if one.key != "Parent":
                builder.set_association(account, one.key, one.value, one.change, place)


def _add_users(builder: TreeBuilder, command: _Command, place: Place) -> None:
    given = {one.key: one.value for one in command.settings}
    # A user is also added to the default account.
    accounts = list(dict.fromkeys(_split(given.get("Account", "")) + _split(given.get("DefaultAccount", ""))))
    if not accounts:
        raise place.error("a user needs an account: write account=…", "Account")
    for name in command.names:
        known = name.lower() in builder.users
        for account in accounts:
            for partition in _split(given.get("Partition", "")) or [""]:
                user = builder.add_user(name, account, partition, place)
                for one in command.settings:
                    if one.key not in {"Account", "Partition"} and not (one.key == "DefaultAccount" and known):
                        builder.set_association(user, one.key, one.value, one.change, place)
        if "DefaultAccount" in given:
            builder.users[name.lower()].default_account = given["DefaultAccount"].lower()


def _change(builder: TreeBuilder, verb: str, entity: str, command: _Command, place: Place) -> None:
    """Modify or delete users or accounts."""
    by_user = entity in {"user", "association"}
    accounts = command.words("Account") + ([] if by_user else command.names)
    users = (command.names if by_user else []) + command.words("Users")
    found = builder.select(accounts, users, command.words("Partition"))
    found = [one for one in found if bool(one.user) is by_user]
    if (command.names or command.where) and not found:
        raise place.error(f"there is no such {entity}: {', '.join(command.names) or 'nothing meets the conditions'}")
    if verb == "delete":
        builder.remove(found)
        return
    for one in found:
        for setting in command.settings:
            builder.set_association(one, setting.key, setting.value, setting.change, place)


def _coordinate(builder: TreeBuilder, verb: str, command: _Command, place: Place) -> None:
    accounts = [
        word for one in (*command.where, *command.settings) if one.key == "Account" for word in _split(one.value)
    ]
    for name in command.names:
        user = builder.users.get(name.lower())
        if user is None:
            raise place.error(f"there is no user {name!r}: add it first")
        others = tuple(one for one in user.coordinator if one not in accounts)
        user.coordinator = others if verb == "delete" else (*others, *accounts)
