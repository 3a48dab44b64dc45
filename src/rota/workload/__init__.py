"""Recorded workloads: SWF, files of sacct and of events, filters, transforms, and the bundled log.

Importing this package imports NumPy and nothing larger.
"""

from rota.workload.bundled import bundled, bundled_names
from rota.workload.events import read_events
from rota.workload.fields import FIELDS, Column, Field, IntColumn
from rota.workload.filters import FILTERS, Filter, only_processors, sc15
from rota.workload.read import files_of, read_workload
from rota.workload.sacct import read_sacct
from rota.workload.swf import read_swf, write_swf
from rota.workload.transforms import Transform, transform
from rota.workload.window import window
from rota.workload.workload import Workload

__all__ = [
    "FIELDS",
    "FILTERS",
    "Column",
    "Field",
    "Filter",
    "IntColumn",
    "Transform",
    "Workload",
    "bundled",
    "bundled_names",
    "files_of",
    "only_processors",
    "read_events",
    "read_sacct",
    "read_swf",
    "read_workload",
    "sc15",
    "transform",
    "window",
    "write_swf",
]
