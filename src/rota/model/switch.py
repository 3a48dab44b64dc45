"""A switch of the network."""

from __future__ import annotations

from typing import NamedTuple


class Switch(NamedTuple):
    """A line of topology.conf: a switch on which nodes hang (a leaf), or which connects others."""

    name: str
    #: Names of the nodes, or of the switches, that hang on it.
    nodes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    link_speed: int = 1
