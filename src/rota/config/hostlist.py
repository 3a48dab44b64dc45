"""Hostlists, ``n[001-087],gn[1-2]``: ClusterShell's, see docs/decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.config.lines import Line


def expand(text: str, line: Line, field: str) -> list[str]:
    """Give the names of a hostlist.

    Raises:
        InputError: it is none.
    """
    if "[" not in text and "]" not in text and "," not in text:
        return [text]
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetParseError

    try:
        return list(NodeSet(text, resolver=RESOLVER_NOGROUP))
    except NodeSetParseError as error:
        raise line.error(f"{text!r} is not a list of nodes: {error}", field) from None
