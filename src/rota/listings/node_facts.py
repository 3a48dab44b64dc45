"""Facts about nodes and reservations that several commands show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.listings.text import size

if TYPE_CHECKING:
    from rota.listings.view import View
    from rota.model.lines import NodeLine, ReservationLine


def gres_used(node: NodeLine) -> str:
    """Give how many GRES of each kind are allocated: ``gpu:tesla:1``; empty: the node has none."""
    names = dict.fromkeys(item.partition("(")[0].rpartition(":")[0] or item for item in node.gres)
    return ",".join(f"{name}:{node.gres_used.get(name, 0)}" for name in names)


def tres_configured(node: NodeLine) -> str:
    """Give the TRES of a node: ``cpu=4,mem=8000M,billing=4,gres/gpu=2``."""
    counts: dict[str, int] = {}
    for item in node.gres:
        name, *rest = item.partition("(")[0].split(":")
        counts[name] = counts.get(name, 0) + (int(rest[-1]) if rest and rest[-1].isdecimal() else 1)
    gres = "".join(f",gres/{name}={count}" for name, count in counts.items())
    return f"cpu={node.cpus},mem={size(node.memory, 'M')},billing={node.billing}{gres}"


def tres_allocated(node: NodeLine) -> str:
    """Give the allocated TRES of a node, without those of which nothing is: ``cpu=2,mem=600M,gres/gpu=1``."""
    parts = [f"cpu={node.cpus_allocated}"] if node.cpus_allocated else []
    parts += [f"mem={size(node.memory_allocated, 'M')}"] if node.memory_allocated else []
    parts += [f"gres/{name}={count}" for name, count in node.gres_used.items() if ":" not in name and count]
    return ",".join(parts)


def reserved(one: ReservationLine, view: View) -> tuple[int, int]:
    """Count the cores and the processors of a reservation's nodes."""
    names = frozenset(one.nodes)
    chosen = [node for node in view.nodes() if node.name in names]
    return sum(node.sockets * node.cores_per_socket for node in chosen), sum(node.cpus for node in chosen)
