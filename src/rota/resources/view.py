"""Views: resource sets of shared nodes, unpacked into arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    #: A row for each kind of resource, a column for each node.
    View = NDArray[np.uint32]

#: Amounts of a node's resources by name, by index of the node.
Shares = dict[int, dict[str, int]]

#: Rows of a view: processors, and MiB of memory; GRES follow.
CPU, MEMORY = 0, 1
