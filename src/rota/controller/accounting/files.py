"""``sacctmgr dump`` and ``load``: a tree as a file, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.accounting.tree import ROOT
from rota.commands.getopt import UsageError
from rota.controller.accounting import texts
from rota.controller.accounting.plan import PLACE, Draft, Plan
from rota.model import InputError
from rota.sacctmgr import TreeBuilder, read_dump, write_dump

if TYPE_CHECKING:
    from rota.commands.sacctmgr import Line
    from rota.controller.cluster import Cluster
    from rota.controller.wire import Terminal
    from rota.model import Association

_PROBLEM = " error: Problem with requests"


def dump(cluster: Cluster, line: Line, terminal: Terminal) -> int:
    """Write the tree to a file of the client; give the exit status."""
    names, path = [], ""
    for word in line.words:
        key, equals, value = word.partition("=")
        if equals and key and "file".startswith(key.lower()):
            path = value.strip("'\"")
        elif equals and key and "cluster".startswith(key.lower()):
            names.append(value.lower())
        else:
            names.append(word.lower())
    tree = cluster.driver.engine.view.tree
    if not names:
        raise UsageError(" We need a cluster to dump.\n")
    if len(names) > 1:
        raise UsageError(f" Can only do one cluster at a time.  Already doing {names[0]}\n")
    if names[0] != tree.cluster.lower():
        raise UsageError(f" Cluster {names[0]} doesn't exist.\n")
    if not path:
        path = f"./{tree.cluster}.cfg"
        terminal.out(f" No filename given, using {path}.\n")
    text = write_dump(tree)
    terminal.error("".join(f"sacctmgr: {one}\n" for one in text.splitlines()))
    terminal.write_file(path, text)
    return 0


def plan_load(draft: Draft, text: str, *, clean: bool) -> Plan:
    """Plan to take up a dump: with ``clean`` in place of the tree, else as additions and changes.

    Raises:
        UsageError: it cannot be read.
    """
    made = TreeBuilder()
    try:
        read_dump(made, text, PLACE.path)
    except InputError as error:
        raise UsageError(f" error: {error}\n") from None
    if not made.cluster:  # nothing comes before the line of the cluster
        return Plan("", draft.builder, _PROBLEM)
    if made.cluster != draft.cluster:
        raise UsageError(f" The file is of cluster {made.cluster}, and this is {draft.cluster}\n")
    new = [one for one in made.select((), (), ()) if draft.builder.find(*_key(one)) is None]
    out = f"For cluster {draft.cluster}\n"
    if new:
        out += f" Associations\n{''.join(texts.added(one, draft.cluster) for one in new)}"
    if clean:
        made.qos = draft.builder.qos
        return Plan(out, made, _PROBLEM)
    _take_up(draft.builder, made)
    return Plan(out, draft.builder, _PROBLEM)


def _key(one: Association) -> tuple[str, str, str]:
    return one.account, one.user, one.partition


def _take_up(builder: TreeBuilder, made: TreeBuilder) -> None:
    """Add what a file has. What it leaves open stays as it is."""
    parents = {one.id: one.account for one in made.select((), (), ())}
    for theirs in made.select((), (), ()):
        mine = builder.find(*_key(theirs))
        if mine is None and theirs.user:
            mine = builder.add_user(theirs.user, theirs.account, theirs.partition, PLACE)
        elif mine is None:
            mine = builder.add_account(theirs.account, parents[theirs.parent_id], PLACE)
        elif not theirs.user and theirs.parent_id:
            builder.set_association(mine, "Parent", parents[theirs.parent_id], "=", PLACE)
        mine.shares_raw = theirs.shares_raw
        mine.priority = theirs.priority or mine.priority
        mine.default_qos = theirs.default_qos or mine.default_qos
        mine.qos = theirs.qos or mine.qos
        mine.limits |= theirs.limits
    builder.accounts |= {name: one for name, one in made.accounts.items() if name != ROOT}
    builder.users |= made.users
