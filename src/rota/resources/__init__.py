"""What the machine has: node sets as bitmaps, the pool of free resources, the profile of future availability."""

from rota.resources.needs import Candidates, Gres, Needs, first_fit
from rota.resources.node_space import CountedSpace, NodeSpace
from rota.resources.oversubscribed import OversubscribedNodePool
from rota.resources.pool import Pool, ProcessorPool, make_pool, shares_nodes
from rota.resources.profile import FutureProfile
from rota.resources.shared import SharedNodePool
from rota.resources.whole import WholeNodePool

__all__ = [
    "Candidates",
    "CountedSpace",
    "FutureProfile",
    "Gres",
    "Needs",
    "NodeSpace",
    "OversubscribedNodePool",
    "Pool",
    "ProcessorPool",
    "SharedNodePool",
    "WholeNodePool",
    "first_fit",
    "make_pool",
    "shares_nodes",
]
