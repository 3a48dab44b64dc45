"""What ``sacct`` says, as a workload."""

from rota.workload.sacct.read import read_sacct
from rota.workload.sacct.table import is_sacct

__all__ = ["is_sacct", "read_sacct"]
