"""``--set``: changes of a configuration, made to its lines before they are read, so that one reader checks all.

=================================== ===================================================================================
``Key=Value``                       sets a key of slurm.conf
``option=50``, ``option``           sets one option of SchedulerParameters, PriorityFlags … and leaves the others
``Key+=a,b=2``, ``Key-=a``          adds options to a list or replaces them, and removes them
``PartitionName=x Key=Value …``     changes a partition or, with ``Nodes=``, adds one
``NodeName=n[1-4] Key=Value …``     changes nodes or, given what they are (``CPUs=`` …), adds some
``NodeSet=x …``, ``DownNodes=x …``  changes a set of nodes; takes nodes down
=================================== ===================================================================================

Keys and options may be in any case. One that does not exist is an error.
"""

from __future__ import annotations

import re
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rota.config.hostlist import expand, fold
from rota.config.keys import KNOWN_KEYS, RECORD_KEYS
from rota.config.lines import Line, Pair, pairs_of
from rota.config.options import (
    BUILT_IN,
    HEEDED,
    OPPOSITES,
    did_you_mean,
    find_option,
    is_known,
    key_of,
    names_in,
    option_names,
)
from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from rota.model import ClusterConfig

_SETTING = re.compile(r"\s*(?P<key>\w+)\s*(?:(?P<change>[-+]?=)\s*(?P<value>.*?))?\s*", re.DOTALL | re.ASCII)
#: Keys with lists as values, besides those with options.
_LISTS = frozenset({"accountingstorageenforce", "accountingstoragetres", "grestypes", "licenses", "priorityweighttres"})
#: Other names of the same key, which a setting takes the place of.
_SYNONYMS = {
    "cpus": ("procs",),
    "procs": ("cpus",),
    "feature": ("features",),
    "features": ("feature",),
    "oversubscribe": ("shared",),
    "shared": ("oversubscribe",),
    "priority": ("prioritytier", "priorityjobfactor"),
}
#: Keys, one of which a node needs to be added.
_WHAT_NODES_ARE = frozenset({"cpus", "procs", "sockets", "socketsperboard", "boards", "corespersocket"})
_TYPES = ("schedulertype", "prioritytype", "selecttype")


class _Setting(NamedTuple):
    text: str
    #: In lower case.
    key: str
    #: ``=``, ``+=`` or ``-=``.
    change: str
    value: str

    def error(self, problem: str) -> InputError:
        return InputError(problem, field=f"--set {self.text}")


def apply_settings(
    lines: Iterable[Line], settings: Sequence[str], notes: list[str], plugins: Iterable[str] = ()
) -> list[Line]:
    """Change the lines of a slurm.conf.

    Args:
        lines: The lines.
        settings: Texts of the settings, in the order in which they are made.
        notes: Told about settings that may not mean what was meant.
        plugins: Types of the plugins that are used in place of those that the lines name.

    Raises:
        InputError: a setting cannot be made.
    """
    changed = list(lines)
    for text in settings:
        own = _own_prefixes(changed, plugins)
        setting = _parse(text, own)
        if setting.key in RECORD_KEYS:
            changed = _set_records(changed, setting)
        else:
            changed = _set_scalar(changed, setting, own, notes)
    return changed


def note_homeless(config: ClusterConfig, before: Iterable[Line], changed: Iterable[Line], notes: list[str]) -> None:
    """Note which of the nodes that settings have added are in no partition: no job would run there.

    Args:
        config: What was read of the changed lines.
        before: The lines before.
        changed: The changed lines.
        notes: Where it is noted.
    """
    own = [line for line in before if _is_of(line, "nodename")]
    if own == [line for line in changed if _is_of(line, "nodename")]:
        return
    known = {name for line in own for name in expand(line.pairs[0].value, line, "NodeName")}
    members = reduce(or_, (one.nodes for one in config.partitions), 0)
    new = (place for place, node in enumerate(config.nodes) if node.name not in known)
    if homeless := [config.nodes[place].name for place in new if not members >> place & 1]:
        named = fold(homeless)
        notes.append(f'{named}: in no partition, so no job runs there: add --set "PartitionName=… Nodes=…,{named}"')


def _own_prefixes(lines: Iterable[Line], plugins: Iterable[str]) -> tuple[str, ...]:
    """Give the prefixes of the options that are the plugins' own: ``mine_`` for ``sched/mine``."""
    named = [pair.value for line in lines for pair in line.pairs[:1] if pair.key.lower() in _TYPES]
    return own_prefixes([*named, *plugins])


def own_prefixes(plugins: Iterable[str]) -> tuple[str, ...]:
    """Give the prefixes of the options that are plugins' own, ``mine_`` for ``sched/mine``; rota's are in `HEEDED`."""
    return tuple(f"{one.partition('/')[2].lower()}_" for one in plugins if one not in BUILT_IN)


def _parse(text: str, own: tuple[str, ...]) -> _Setting:
    match = _SETTING.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is not KEY=VALUE", field="--set")
    name, change, value = match["key"], match["change"], match["value"] or ""
    if name.lower() in KNOWN_KEYS or name.lower() in RECORD_KEYS:
        if change is None:
            raise InputError(f"{text!r} is not KEY=VALUE", field="--set")
        return _Setting(text, name.lower(), change, value)
    key = key_of(name) or ("schedulerparameters" if name.lower().startswith(own) else None)
    if key is None:
        known = [*KNOWN_KEYS.values(), *(one for key in HEEDED for one in option_names(key))]
        problem = f"{name} is no key of slurm.conf, and no option of one{did_you_mean(name, known)}"
        raise InputError(problem, field="--set")
    if change in {"+=", "-="}:
        raise InputError(f"{name} is an option: write {KNOWN_KEYS[key]}{change}{name}", field="--set")
    return _Setting(text, key, "+=", name if change is None else f"{name}={value}")


# ---- lines of one pair ----------------------------------------------------------------------------------------------


def _set_scalar(lines: list[Line], setting: _Setting, own: tuple[str, ...], notes: list[str]) -> list[Line]:
    """Set a key. The line takes the place of the last one with this key, whose value counts."""
    places = [place for place, line in enumerate(lines) if line.pairs[0].key.lower() == setting.key]
    last = lines[places[-1]] if places else None
    old = names_in(last.pairs[0].value) if last is not None else []
    if setting.key in HEEDED and setting.change != "-=":
        for item in names_in(setting.value):
            _check_option(setting, item, own)
    if setting.change == "=":
        if lost := _lost(setting, old):
            option = names_in(setting.value)[0] if setting.value else "…"
            notes.append(
                f"--set {setting.text}: drops {','.join(lost)}, which is set too; to keep it write --set {option}"
            )
        new = setting.value
    else:
        new = ",".join(_changed_list(setting, old))
    line = Line(Path(), 0, (Pair(KNOWN_KEYS[setting.key], new),), {setting.key: setting.text})
    if last is not None and setting.change != "=":
        # Errors name the line of which most of the value is, and those of an option the setting that it is from.
        own_items = {f"{setting.key}.{_name(item)}": setting.text for item in names_in(setting.value)}
        line = last._replace(pairs=line.pairs, settings={**last.settings, **own_items})
    if not places:
        return [*lines, line]
    lines[places[-1]] = line
    return [one for place, one in enumerate(lines) if place not in places[:-1]]


def _lost(setting: _Setting, old: Sequence[str]) -> list[str]:
    """Give the options that a new value drops."""
    kept = {_name(item) for item in names_in(setting.value)}
    return [item for item in old if _name(item) not in kept] if setting.key in HEEDED else []


def _name(item: str) -> str:
    return item.partition("=")[0].strip().lower()


def _changed_list(setting: _Setting, old: Sequence[str]) -> list[str]:
    """Add the items of a list, in the place of those of the same name, or remove them."""
    if setting.key not in HEEDED and setting.key not in _LISTS:
        raise setting.error(f"{KNOWN_KEYS[setting.key]} is no list: write {KNOWN_KEYS[setting.key]}=…")
    items = {_name(item): item for item in old}
    for item in names_in(setting.value):
        if setting.change == "+=":
            items = {name: one for name, one in items.items() if name not in OPPOSITES.get(_name(item), ())}
            items[_name(item)] = item
        elif items.pop(_name(item), None) is None:
            known = did_you_mean(item, old)
            raise setting.error(f"{item} is not there to be removed{known}; {','.join(old) or 'nothing'} is set")
    return list(items.values())


def _check_option(setting: _Setting, item: str, own: tuple[str, ...]) -> None:
    """Check that an option exists, and that just those have a value that need one."""
    name, equals, value = (part.strip() for part in item.partition("="))
    if name.lower().startswith(own):
        return
    key = KNOWN_KEYS[setting.key]
    if not is_known(setting.key, name):
        raise setting.error(f"{name} is no option of {key}{did_you_mean(name, option_names(setting.key))}")
    option = find_option(setting.key, name)
    if option is not None and option.is_flag and equals:
        raise setting.error(
            f"{option.name} has no value: {key}+={option.name} sets it, {key}-={option.name} removes it"
        )
    if option is not None and not option.is_flag and not value:
        raise setting.error(f"{option.name} needs a value: write {option.name}=…")


# ---- lines of several pairs -----------------------------------------------------------------------------------------


def _set_records(lines: list[Line], setting: _Setting) -> list[Line]:
    if re.search(r"\w\s*[-+]=", setting.text):
        raise setting.error("lists on such lines are written whole: write =")
    if not setting.value:
        raise setting.error(f"names none: write {setting.text.strip()}… Key=Value")
    pairs = pairs_of(setting.text.strip(), Path(), 0)
    known = RECORD_KEYS[setting.key]
    if known is None:
        raise setting.error(f"nothing in rota reads {pairs[0].key} lines")
    for name, _ in pairs:
        if name.lower() not in known:
            raise setting.error(f"{name} is no key of a {pairs[0].key} line{did_you_mean(name, known.values())}")
    if len(pairs) == 1:
        raise setting.error(f"sets nothing: write {pairs[0].key}={pairs[0].value} Key=Value")
    if setting.key == "downnodes":
        return [*lines, Line(Path(), 0, pairs, _blame(setting, pairs))]
    return _set_nodes(lines, setting, pairs) if setting.key == "nodename" else _set_named(lines, setting, pairs)


def _set_named(lines: list[Line], setting: _Setting, pairs: tuple[Pair, ...]) -> list[Line]:
    """Change a partition or node set or, given its nodes, add one."""
    name = pairs[0].value
    named = {line.pairs[0].value: place for place, line in enumerate(lines) if _is_of(line, setting.key)}
    if name not in named:
        if name.upper() == "DEFAULT" or "nodes" not in {key.lower() for key, _ in pairs}:
            what = "partition" if setting.key == "partitionname" else "node set"
            raise setting.error(f"there is no {what} {name}{did_you_mean(name, named)}; there are {', '.join(named)}")
        added = Line(Path(), 0, pairs, _blame(setting, pairs))
        return [*_only_default(lines, pairs), added]
    changed = _only_default(lines, pairs)
    changed[named[name]] = _with_pairs(lines[named[name]], setting, pairs[1:])
    return changed


def _only_default(lines: list[Line], pairs: tuple[Pair, ...]) -> list[Line]:
    """Have no other partition be the default one, if these pairs make one that."""
    if not any(key.lower() == "default" and value.lower() == "yes" for key, value in pairs):
        return list(lines)
    return [
        one._replace(pairs=tuple(Pair(key, "NO" if key.lower() == "default" else value) for key, value in one.pairs))
        if _is_of(one, "partitionname")
        else one
        for one in lines
    ]


def _set_nodes(lines: list[Line], setting: _Setting, pairs: tuple[Pair, ...]) -> list[Line]:
    """Change nodes or, given what they are, add some. A line that defines others too is split."""
    left = dict.fromkeys(expand(pairs[0].value, Line(Path(), 0, pairs, _blame(setting, pairs)), pairs[0].key))
    changed: list[Line] = []
    defined: list[str] = []
    for line in lines:
        if not _is_of(line, "nodename"):
            changed.append(line)
            continue
        names = expand(line.pairs[0].value, line, "NodeName")
        mine = [name for name in names if name in left]
        others = [name for name in names if name not in left]
        defined += names
        if others:
            changed.append(_of_nodes(line, others) if mine else line)
        if mine:
            changed.append(_with_pairs(_of_nodes(line, mine), setting, pairs[1:]))
        for name in mine:
            del left[name]
    if left:
        name = next(iter(left))
        if not _WHAT_NODES_ARE & {key.lower() for key, _ in pairs}:
            told = f"node {name} is not defined{did_you_mean(name, defined)}"
            raise setting.error(f"{told}; to add it, say what it is: CPUs=…")
        added = (Pair(pairs[0].key, fold(left)), *pairs[1:])
        place = max((i + 1 for i, line in enumerate(changed) if line.pairs[0].key.lower() == "nodename"), default=0)
        changed.insert(place, Line(Path(), 0, added, _blame(setting, pairs)))
    return changed


def _of_nodes(line: Line, names: Collection[str]) -> Line:
    first, *others = line.pairs
    return line._replace(pairs=(Pair(first.key, fold(names)), *others))


def _is_of(line: Line, kind: str) -> bool:
    """Whether a line defines something of this kind; ``DEFAULT`` lines define nothing."""
    return line.pairs[0].key.lower() == kind and line.pairs[0].value.upper() != "DEFAULT"


def _with_pairs(line: Line, setting: _Setting, pairs: Sequence[Pair]) -> Line:
    """Set keys of a line of several pairs."""
    given = {key.lower() for key, _ in pairs}
    replaced = given | {other for key in given for other in _SYNONYMS.get(key, ())}
    if {"prioritytier", "priorityjobfactor"} & given:
        pairs = [*_both_priorities(line, given), *pairs]
        replaced |= {"priority"}
    kept = [pair for pair in line.pairs if pair.key.lower() not in replaced]
    return line._replace(pairs=(*kept, *pairs), settings={**line.settings, **_blame(setting, pairs)})


def _both_priorities(line: Line, given: Collection[str]) -> list[Pair]:
    """Give what the old key ``Priority`` of a line says for the one of the two priorities that is not set."""
    old = next((pair.value for pair in line.pairs if pair.key.lower() == "priority"), None)
    names = ("PriorityTier", "PriorityJobFactor")
    return [] if old is None else [Pair(name, old) for name in names if name.lower() not in given]


def _blame(setting: _Setting, pairs: Iterable[Pair]) -> dict[str, str]:
    return {key.lower(): setting.text for key, _ in pairs}
