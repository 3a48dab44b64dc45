"""Recorded workloads: SWF and event files, filters, and the bundled log.

Importing this package imports NumPy and nothing larger.
"""

from rota.workload.bundled import bundled, bundled_names
from rota.workload.events import read_events
from rota.workload.fields import FIELDS, Column, Field, IntColumn
from rota.workload.filters import FILTERS, Filter, sc15
from rota.workload.read import read_workload
from rota.workload.swf import read_swf, write_swf
from rota.workload.workload import Workload

__all__ = [
    "FIELDS",
    "FILTERS",
    "Column",
    "Field",
    "Filter",
    "IntColumn",
    "Workload",
    "bundled",
    "bundled_names",
    "read_events",
    "read_swf",
    "read_workload",
    "sc15",
    "write_swf",
]
