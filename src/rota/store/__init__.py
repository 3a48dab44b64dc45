"""What a live cluster keeps on disk: the journal of events, snapshots, submissions, runs and accounting records."""

from rota.store.database import Database, DatabaseError
from rota.store.writes import Write

__all__ = ["Database", "DatabaseError", "Write"]
