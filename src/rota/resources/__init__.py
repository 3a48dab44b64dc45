"""What the machine has: node sets as bitmaps, the pool of free resources, the profile of future availability."""

from rota.resources.pool import Pool, ProcessorPool, WholeNodePool, make_pool
from rota.resources.profile import FutureProfile

__all__ = ["FutureProfile", "Pool", "ProcessorPool", "WholeNodePool", "make_pool"]
