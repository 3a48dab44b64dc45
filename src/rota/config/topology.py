"""Reading topology.conf: the switches of a cluster, from those that nodes hang on to the topmost."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rota.config.hostlist import expand, fold
from rota.config.lines import read_lines
from rota.config.options import did_you_mean
from rota.model import Switch

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from rota.config.lines import Line

#: A name, or names with numbers in brackets, of a list.
_PART = re.compile(r"(?:[^,\[]|\[[^\]]*\]?)+")
_KEYS = {"switchname": "SwitchName", "switches": "Switches", "nodes": "Nodes", "linkspeed": "LinkSpeed"}


def read_topology(path: Path, nodes: Collection[str], warnings: list[str]) -> tuple[Switch, ...]:
    """Read the switches in the order of their lines.

    Args:
        path: The file, topology.conf.
        nodes: Names of the cluster's nodes.
        warnings: Is told of nodes that there are not, and of those on a second switch, as in Slurm.

    Raises:
        InputError: the file cannot be read, a key or switch does not exist or is used twice, a switch has neither nodes
            nor switches or has both, or switches are below each other. The message names file, line and key.
    """
    lines: dict[str, Line] = {}
    switches: dict[str, Switch] = {}
    above: dict[str, str] = {}
    for line in read_lines(path):
        values = _values(line)
        name = values["switchname"]
        if name in switches:
            raise line.error(f"switch {name} is defined twice", "SwitchName")
        if ("nodes" in values) == ("switches" in values):
            raise line.error(f"switch {name} needs either Nodes or Switches", "SwitchName")
        named = _names(line, "Nodes", values)
        own = tuple(node for node in named if node in nodes and node not in above)
        above.update(dict.fromkeys(own, name))
        if unknown := [node for node in named if node not in nodes]:
            warnings.append(line.warning(f"there are no nodes {fold(unknown)}", "Nodes"))
        if twice := [node for node in named if above.get(node, name) != name]:
            warnings.append(line.warning(f"{fold(twice)} are on another switch already, and stay there", "Nodes"))
        lines[name] = line
        switches[name] = Switch(name, own, _names(line, "Switches", values), int(values.get("linkspeed", 1)))
    _check_tree(switches, lines)
    return tuple(switches.values())


def _values(line: Line) -> dict[str, str]:
    values: dict[str, str] = {}
    for key, value in line.pairs:
        if key.lower() not in _KEYS:
            raise line.error(f"no key of topology.conf{did_you_mean(key, _KEYS.values())}", key)
        if key.lower() in values:
            raise line.error("set more than once", key)
        values[key.lower()] = value
    if "switchname" not in values:
        raise line.error("has no SwitchName", line.pairs[0].key)
    if not values.get("linkspeed", "1").isdecimal():
        raise line.error(f"{values['linkspeed']!r} is not a whole number", "LinkSpeed")
    return values


def _names(line: Line, key: str, values: dict[str, str]) -> tuple[str, ...]:
    """Expand names in the order in which they are written, which Slurm shows."""
    parts = _PART.findall(values.get(key.lower(), ""))
    return tuple(dict.fromkeys(name for part in parts for name in expand(part, line, key)))


def _check_tree(switches: dict[str, Switch], lines: dict[str, Line]) -> None:
    """Refuse switches that do not exist, that are below two others, or below themselves."""
    above: dict[str, str] = {}
    for name, switch in switches.items():
        for below in switch.switches:
            if below not in switches:
                raise lines[name].error(f"there is no switch {below}{did_you_mean(below, switches)}", "Switches")
            if below in above:
                raise lines[name].error(f"switch {below} is below {above[below]} already", "Switches")
            above[below] = name
    for name in switches:
        passed, one = {name}, name
        while (one := above.get(one, "")) and one not in passed:
            passed.add(one)
        if one:
            raise lines[name].error(f"switch {name} is below itself", "Switches")
