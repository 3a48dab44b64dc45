"""The engine, a pure state machine: ``engine.handle(event, now)`` gives effects.

It has no I/O, clock, randomness or threads: these are the drivers'.
"""

from rota.core.engine import Engine
from rota.core.view.cluster_view import ClusterView

__all__ = ["ClusterView", "Engine"]
