"""Views: resource sets of nodes that jobs share, unpacked to be looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    #: A row a kind of resource, a column a node.
    View = NDArray[np.uint32]

#: How much of what there is of a node, for some nodes by their places.
Shares = dict[int, dict[str, int]]

#: Rows of a view: processors, MiB of memory; GRES come after these.
CPU, MEMORY = 0, 1
