"""rota: a workload manager whose every policy is a Python plugin.

The names below are all that a notebook or a sweep needs; plugins import from `rota.interfaces`. Each is imported when
it is first used, so that ``import rota`` costs nothing (PEP 562).
"""

# Commands that run steps import this at each start, and `typing` takes a third of it: see `rota.client.step`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rota.model import ClusterConfig, InputError, JobSpec, PluginFaultError, RotaError
    from rota.replays.options import ReplayOptions, ReplayWarning
    from rota.replays.run import replay
    from rota.replays.scenario import Scenario
    from rota.results.result import Result
    from rota.results.side_by_side import Comparison
    from rota.workload import Workload

__version__ = "0.1.0"
__all__ = [
    "ClusterConfig",
    "Comparison",
    "InputError",
    "JobSpec",
    "PluginFaultError",
    "ReplayOptions",
    "ReplayWarning",
    "Result",
    "RotaError",
    "Scenario",
    "Workload",
    "replay",
]
_MODULES = {
    "rota.model": ("ClusterConfig", "InputError", "JobSpec", "PluginFaultError", "RotaError"),
    "rota.replays.options": ("ReplayOptions", "ReplayWarning"),
    "rota.replays.run": ("replay",),
    "rota.replays.scenario": ("Scenario",),
    "rota.results.result": ("Result",),
    "rota.results.side_by_side": ("Comparison",),
    "rota.workload": ("Workload",),
}


def __getattr__(name: str) -> "Any":
    """Import a public name when it is first used."""
    for module, names in _MODULES.items():
        if name in names:
            from importlib import import_module

            found = globals()[name] = getattr(import_module(module), name)
            return found
    raise AttributeError(f"module 'rota' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Offer the public names to completion, before they are imported."""
    return sorted({*globals(), *__all__})
