"""What a live cluster keeps on disk: the journal of events, snapshots, submissions, runs and accounting records."""

from rota.store.connection import DatabaseError
from rota.store.database import Database
from rota.store.upgrade import make_or_upgrade
from rota.store.writes import Write

__all__ = ["Database", "DatabaseError", "Write", "make_or_upgrade"]
