"""Symbol containers for tests: stubs in which a test replaces some functions, and a recorder of calls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from rota.core.job_view import PluginJob
from rota.interfaces import APIS, SLURM_SUCCESS
from rota.interfaces.stubs import priority as priority_stubs
from rota.interfaces.stubs import sched as sched_stubs

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from rota.interfaces import Controller


def scheduler(plugin_type: str = "sched/test", **functions: object) -> SimpleNamespace:
    """Make a scheduler plugin of stubs, with some functions or other attributes replaced.

    Its ``init`` keeps the controller as ``plugin.ctld``, and initial priorities are those of the priority plugin, so
    that it is a FIFO scheduler::

        plugin = scheduler(slurm_sched_p_schedule=lambda: 1 / 0)
    """
    plugin = _stubs(plugin_type, sched_stubs)

    def initial_priority(last_prio: int, job_ptr: PluginJob) -> int:
        answer: int = plugin.ctld.priority.set(last_prio, job_ptr)
        return answer

    plugin.slurm_sched_p_initial_priority = initial_priority
    vars(plugin).update(functions)
    return plugin


def priority(plugin_type: str = "priority/test", **functions: object) -> SimpleNamespace:
    """Make a priority plugin of stubs, with some functions replaced; its ``init`` keeps ``plugin.ctld``."""
    plugin = _stubs(plugin_type, priority_stubs)
    vars(plugin).update(functions)
    return plugin


def _stubs(plugin_type: str, stubs: ModuleType) -> SimpleNamespace:
    plugin = SimpleNamespace(**{name: getattr(stubs, name) for name in stubs.__all__})
    plugin.plugin_type, plugin.plugin_name, plugin.plugin_version = plugin_type, "for a test", 100

    def init(ctld: Controller) -> int:
        plugin.ctld = ctld
        return SLURM_SUCCESS

    plugin.init = init
    return plugin


class Call(NamedTuple):
    """A call of a plugin function. Jobs are replaced by their ids."""

    symbol: str
    arguments: tuple[Any, ...] = ()


class Recorder:
    """A symbol container that passes every call on to another one and records it.

    Several recorders may share one list, which then shows the order across plugins::

        calls: list[Call] = []
        with Harness(sched=Recorder(scheduler(), calls), priority=Recorder(priority(), calls)): ...
    """

    def __init__(self, container: object, calls: list[Call] | None = None) -> None:
        """Wrap a container.

        Args:
            container: The plugin whose calls are recorded.
            calls: List to which calls are appended; ``None``: a new one.
        """
        self._container = container
        #: Calls in order.
        self.calls: list[Call] = [] if calls is None else calls
        major = str(vars(container)["plugin_type"]).partition("/")[0]
        for name in ("init", "fini", *(symbol.name for symbol in APIS[major].symbols)):
            function = getattr(container, name, None)
            if function is not None:
                setattr(self, name, self._recorded(name, function))

    def __getattr__(self, name: str) -> Any:
        """Give attributes other than functions of the API, such as ``plugin_type``."""
        return getattr(self._container, name)

    def _recorded(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: object) -> Any:
            self.calls.append(Call(name, tuple(a.job_id if isinstance(a, PluginJob) else a for a in arguments)))
            return function(*arguments)

        return call
