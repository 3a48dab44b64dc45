"""rota: a workload manager whose every policy is a Python plugin."""

__version__ = "0.1.0"
