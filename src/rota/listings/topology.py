"""What ``scontrol show topology`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.config.hostlist import expand_hostlist, fold, fold_sorted
from rota.listings.answer import Answer
from rota.model.bounds import MOST_OF_MACHINE
from rota.resources import Switches

if TYPE_CHECKING:
    from rota.listings.view import View
    from rota.model import Switch


def show_topology(name: str | None, view: View) -> Answer:
    """Show the switches, one, or those above a node."""
    if not view.config.has_tree():
        return Answer(err="scontrol: error: No topology information available\n")
    switches, every = view.config.switches, view.config.nodes
    tree = Switches(switches, every)
    held = [tree.below(one, tree.leaf_of).nonzero()[0] for one in range(len(switches))]
    nodes = [[every[place].name for place in places] for places in held]
    chosen = [one for one, switch in enumerate(switches) if name in {None, switch.name}]
    chosen = chosen or [one for one, names in enumerate(nodes) if name in names]
    if not chosen:
        return Answer(err=f"scontrol: error: Topology information contains no switch or node named {name}\n")
    return Answer("".join(_line(switches[one], tree.level[one], nodes[one]) for one in chosen))


def _line(switch: Switch, level: int, nodes: list[str]) -> str:
    words = [
        f"SwitchName={switch.name}",
        f"Level={level}",
        f"LinkSpeed={switch.link_speed}",
        f"Nodes={fold_sorted(nodes)}",
    ]
    if switch.switches:
        folded = fold(switch.switches)
        in_order = tuple(expand_hostlist(folded, MOST_OF_MACHINE)) == switch.switches
        words.append(f"Switches={folded if in_order else ','.join(switch.switches)}")
    return " ".join(words) + "\n"
