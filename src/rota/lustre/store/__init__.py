"""What jobs did, kept: in steps of ten seconds for a day, and in longer ones for longer.

============ ==========================================================================================================
`segment`    what was counted in one span of time, as three columns of numbers
`tiers`      which steps there are, how long each is kept, and which of them answer a question
`names`      numbers for operations, targets and jobs
`database`   the file
`standings`  what counting goes on from
`writer`     what is written
`reader`     what is read
`known`      what is known of jobs
============ ==========================================================================================================

See decisions 30, 40 and 44.
"""

from rota.lustre.store.known import Values, shown
from rota.lustre.store.reader import Job, Look, Part, Reader
from rota.lustre.store.segment import Packed, Segment, add, jobs_of, places_of, targets_of
from rota.lustre.store.tiers import Kept, Span, Tier, cover, finest_at, tiers_of
from rota.lustre.store.veil import ALL, JOB, Veil, veil_of
from rota.lustre.store.writer import Writer, Written

__all__ = [
    "ALL",
    "JOB",
    "Job",
    "Kept",
    "Look",
    "Packed",
    "Part",
    "Reader",
    "Segment",
    "Span",
    "Tier",
    "Values",
    "Veil",
    "Writer",
    "Written",
    "add",
    "cover",
    "finest_at",
    "jobs_of",
    "places_of",
    "shown",
    "targets_of",
    "tiers_of",
    "veil_of",
]
