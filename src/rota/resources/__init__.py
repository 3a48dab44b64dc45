"""The machine's resources: bitmaps of nodes, pools of free resources, and availability over time."""

from rota.resources.future.node_space import NodeSpace, ProcessorSpace
from rota.resources.future.profile import FutureProfile
from rota.resources.pools.oversubscribed import OversubscribedNodePool
from rota.resources.pools.pool import Pool, ProcessorPool, make_pool, shares_nodes
from rota.resources.pools.shared import SharedNodePool
from rota.resources.pools.whole import WholeNodePool
from rota.resources.requests.needs import Candidates, Gres, Needs, first_fit
from rota.resources.switches import Switches

__all__ = [
    "Candidates",
    "FutureProfile",
    "Gres",
    "Needs",
    "NodeSpace",
    "OversubscribedNodePool",
    "Pool",
    "ProcessorPool",
    "ProcessorSpace",
    "SharedNodePool",
    "Switches",
    "WholeNodePool",
    "first_fit",
    "make_pool",
    "shares_nodes",
]
