"""The controller as a pure state machine: ``engine.handle(event, now)`` gives effects.

No I/O, no clock, no randomness, no threads: drivers have those.
"""

from rota.core.engine import Engine
from rota.core.view.cluster_view import ClusterView

__all__ = ["ClusterView", "Engine"]
