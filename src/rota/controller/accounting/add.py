"""``sacctmgr add``: accounts, users, QOS and coordinators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.commands.getopt import UsageError
from rota.controller.accounting import texts
from rota.controller.accounting.plan import PLACE, Draft, Given, Plan
from rota.model.bounds import MOST_NAMES
from rota.sacctmgr.keys import QOS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.model import Association

_NOTHING = UsageError("", " Nothing new added.\n")
_ASK = "        Contact your admin to add this account.\n"


def add_accounts(draft: Draft) -> Plan:
    """Plan to add accounts.

    Raises:
        UsageError: they cannot be added.
    """
    builder, given = draft.builder, draft.keys(draft.words.settings)
    names = [*draft.words.names, *_values(given, "Names", "Account")]
    draft.check_cluster(_values(given, "Cluster"))
    if not names:
        raise UsageError(" Need name of account to add.\n")
    scratch = draft.check(given)
    text = {key: one.value for key, one in given}
    parent = text.get("Parent", "root").lower()
    if builder.find(parent) is None:
        raise UsageError(
            f" Parent account '{parent}' doesn't exist on cluster {draft.cluster}\n{_ASK} No associations created.\n"
        )
    new = [name for name in dict.fromkeys(names) if name not in builder.accounts]
    made = []
    for name in new:
        one = builder.add_account(name, parent, PLACE)
        _set(draft, one, given, {"Parent", "Account", "Names", "Cluster"})
        made.append(one)
    if not new:
        raise _NOTHING
    shown = texts.association_settings(scratch, given, parent=text.get("Parent", "").lower())
    if shown and "Parent" not in text:
        shown = texts.association_settings(scratch, given, parent="root")
    out = (
        f" Adding Account(s)\n{texts.names(new)} Settings\n"
        f"  Description     = {text.get('Description', 'Account Name')}\n"
        f"  Organization    = {text.get('Organization', 'Parent/Account Name')}\n"
        f" Associations\n{''.join(texts.added(one, draft.cluster) for one in made)}"
    )
    return Plan(out + (f" Settings\n{shown}" if shown else ""), builder, " Problem adding accounts")


def add_users(draft: Draft) -> Plan:
    """Plan to add users to accounts.

    Raises:
        UsageError: they cannot be added.
    """
    builder, given = draft.builder, draft.keys(draft.words.settings, hint=False)
    names = [*draft.words.names, *_values(given, "Names", "Users")]
    draft.check_cluster(_values(given, "Cluster"))
    if not names:
        raise UsageError(" Need name of user to add.\n")
    default = _values(given, "DefaultAccount")
    accounts = sorted({*_values(given, "Account"), *default})
    if not accounts:
        raise UsageError(" Need name of account to add user to.\n")
    level = next((one.value for key, one in given if key == "AdminLevel"), None)
    others = [one for one in given if one.key not in {"AdminLevel", "DefaultAccount", "Coordinator"}]
    scratch = draft.check(others, hint=False)
    missing = [name for name in accounts if name not in builder.accounts]
    err = "".join(f" This account '{name}' doesn't exist.\n{_ASK}" for name in missing)
    new = [name for name in dict.fromkeys(names) if name not in builder.users]
    made = _associate(draft, list(dict.fromkeys(names)), [one for one in accounts if one not in missing], others)
    if missing or not made:
        raise UsageError(err, _NOTHING.out)
    for name in new:
        builder.users[name].default_account = default[0] if default else made[0].account
        builder.users[name].admin_level = admin_level(level or "none")
    out = f" Adding User(s)\n{texts.names(new)}" if new else ""
    if new and (default or level):
        out += " Settings =\n"
        out += f"  Default Account = {default[0]}\n" if default else ""
        out += f"  Admin Level     = {admin_level(level)}\n" if level else ""
    out += f" Associations =\n{''.join(texts.added(one, draft.cluster) for one in made)} Non Default Settings\n"
    out += texts.association_settings(scratch, given)
    return Plan(out, builder, " Problem adding users" if new else " Problem adding user associations")


def _associate(draft: Draft, names: list[str], accounts: list[str], given: list[Given]) -> list[Association]:
    """Add users to accounts where they are not; give their new associations."""
    partitions = _values(given, "Partition") or [""]
    if len(names) * len(accounts) * len(partitions) > MOST_NAMES:
        raise UsageError(f" Too many associations at a time: at most {MOST_NAMES:,}.\n")
    made = []
    for name in names:
        for account in accounts:
            for partition in partitions:
                if draft.builder.find(account, name, partition) is not None:
                    continue
                one = draft.builder.add_user(name, account, partition, PLACE)
                _set(draft, one, given, {"Account", "Names", "Users", "Cluster", "Partition"})
                made.append(one)
    return made


def add_qos(draft: Draft) -> Plan:
    """Plan to add QOS.

    Raises:
        UsageError: they cannot be added.
    """
    builder, given = draft.builder, draft.keys(draft.words.settings, QOS)
    names = [*draft.words.names, *_values(given, "Names")]
    if not names:
        raise UsageError(" Need name of qos to add.\n")
    scratch = draft.check_qos(given)
    new = [name for name in dict.fromkeys(names) if name not in builder.qos]
    if not new:
        raise _NOTHING
    for name in new:
        qos = builder.add_qos(name)
        for key, one in given:
            builder.set_qos(qos, key, one.value, one.change, PLACE)
    description = next((one.value for key, one in given if key == "Description"), new[-1])
    out = f" Adding QOS(s)\n{texts.names(new)} Settings\n"
    out += texts.qos_settings(scratch, given, description=description)
    return Plan(out, builder, " Problem adding QOS")


def add_coordinators(draft: Draft) -> Plan:
    """Plan to let users coordinate accounts.

    Raises:
        UsageError: it cannot be done.
    """
    builder, given = draft.builder, draft.keys(draft.words.settings)
    names = [*draft.words.names, *_values(given, "Names", "Users")]
    accounts = _values(given, "Account")
    if not names and not accounts:
        raise UsageError(" You need to specify conditions to to add the coordinator.\n")
    if not accounts:
        raise UsageError(" You need to specify an account list here.\n")
    if not names:
        raise UsageError(" You need to specify a user list here.\n")
    for account in accounts:
        if account not in builder.accounts:
            raise UsageError(f" You specified a non-existent account '{account}'.\n")
    for name in names:
        if name not in builder.users:
            raise UsageError(f" You specified a non-existent user '{name}'.\n")
        user = builder.users[name]
        user.coordinator = tuple(sorted({*user.coordinator, *accounts}))
    out = (
        f" Adding Coordinator User(s)\n{texts.names(names)} To Account(s) and all sub-accounts\n{texts.names(accounts)}"
    )
    return Plan(out, builder, " Problem adding coordinator")


def admin_level(text: str) -> str:
    """Read an administrative level, which may be abbreviated; what is none of them is none, as in Slurm."""
    levels = ("None", "Operator", "Administrator")
    return next((level for level in levels if text and level.lower().startswith(text.lower())), "None")


def _values(given: Iterable[Given], *keys: str) -> list[str]:
    return [name for key, one in given if key in keys for name in one.names]


def _set(draft: Draft, one: Association, given: Iterable[Given], skipped: set[str]) -> None:
    for key, setting in given:
        if key not in skipped:
            draft.builder.set_association(one, key, setting.value, setting.change, PLACE)
