"""``scontrol update`` of nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rota.commands.getopt import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

_NODE_STATES = ("NORESP", "DRAIN", "FAIL", "FUTURE", "RESUME", "POWER_DOWN", "POWER_UP", "UNDRAIN", "DOWN", "IDLE")
#: Keys of updates of nodes, and the fewest letters of each.
_OF_NODES = {
    "nodename": 3,
    "state": 1,
    "reason": 1,
    "comment": 2,
    "extra": 1,
    "features": 1,
    "availablefeatures": 3,
    "activefeatures": 3,
    "weight": 1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUpdate:
    """Changes of nodes; ``None``: not changed."""

    #: A hostlist, which the controller expands for those who may change nodes.
    nodes: str = ""
    #: In upper case: DRAIN, DOWN, RESUME, UNDRAIN, IDLE, FAIL …
    state: str | None = None
    reason: str | None = None
    comment: str | None = None
    extra: str | None = None
    weight: int | None = None
    features: str | None = None


def abbreviates(key: str, name: str, least: int) -> bool:
    """Whether a key is the beginning of a name, with so many letters at least."""
    return len(key) >= least and name.startswith(key)


def parse_node(pairs: Iterable[tuple[str, str, str, bool]]) -> NodeUpdate:
    """Parse the words of an update of nodes: each, its key and value, and whether it has both.

    Raises:
        UsageError: a key or value cannot be used.
    """
    changes: dict[str, Any] = {}
    for word, key, value, equals in pairs:
        low = next((one for one, least in _OF_NODES.items() if abbreviates(key.lower(), one, least)), "")
        if not equals:
            raise UsageError(f"scontrol: error: Invalid input: {word}  Request aborted\nslurm_update error: No error\n")
        if low == "nodename":
            changes["nodes"] = value
        elif low == "state":
            changes["state"] = _node_state(word, value)
        elif low in {"reason", "comment", "extra"}:
            changes[low] = value
        elif low in {"features", "availablefeatures", "activefeatures"}:
            changes["features"] = value
        elif low == "weight":
            if not re.fullmatch(r"\d{1,9}", value, re.ASCII):
                what = "less than zero" if re.fullmatch(r"-\d{1,9}", value, re.ASCII) else "not a valid number"
                raise UsageError(f"scontrol: error: Weight value ({value}) is {what}\nNo changes specified\n")
            changes["weight"] = int(value)
        else:
            raise UsageError(f"Update of this parameter is not supported: {word}\nRequest aborted\n")
    if len(changes) < 2:
        raise UsageError("No changes specified\n")
    if changes.get("state") in {"DOWN", "DRAIN", "FAIL"} and not changes.get("reason"):
        raise UsageError("You must specify a reason when DOWNING or DRAINING a node. Request denied\n")
    return NodeUpdate(**changes)


def _node_state(word: str, value: str) -> str:
    state = next((one for one in _NODE_STATES if len(value) > 2 and one.startswith(value.upper())), None)
    if state is None:
        raise UsageError(
            f"Invalid input: {word}\nRequest aborted\n"
            "Valid states are: NoResp DRAIN FAIL FUTURE RESUME POWER_DOWN POWER_UP UNDRAIN\n"
            "Not all states are valid given a node's prior state\n"
        )
    return state
