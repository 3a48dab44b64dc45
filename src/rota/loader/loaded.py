"""A loaded plugin: its functions, and its life from ``init`` to ``fini``.

=========== =============== ===================================================================================
state       next            how
=========== =============== ===================================================================================
LOADED      STARTED         `LoadedPlugin.start`: ``init`` returned `SLURM_SUCCESS`, or there is none
LOADED      CLOSED          ``init`` failed, or the plugin was never started: ``fini`` is not called
STARTED     CLOSED          `LoadedPlugin.close`: ``fini`` is called, once
=========== =============== ===================================================================================
"""

from __future__ import annotations

import sys
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from rota.interfaces import SLURM_SUCCESS, Errno, InputError, RotaError
from rota.interrupts import raise_if_interrupted
from rota.loader.candidate import PluginRefusedError, Source
from rota.loader.symbols import FINI, INIT, accepts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from rota.interfaces.controller import ControllerOf
    from rota.loader.candidate import Candidate


class _State(Enum):
    LOADED = auto()
    STARTED = auto()
    CLOSED = auto()


class LoadedPlugin:
    """A loaded plugin."""

    def __init__(
        self,
        candidate: Candidate,
        container: object,
        functions: Mapping[str, Callable[..., Any]],
        *,
        spoken_major: int,
        module_name: str,
    ) -> None:
        self.candidate = candidate
        #: The common API major.
        self.spoken_major = spoken_major
        #: The module or object with the plugin's functions as attributes.
        self.container = container
        #: Its documented functions by name, as of loading, without ``init`` and ``fini``, which the engine does not
        #: call.
        self.functions = {name: function for name, function in functions.items() if name not in {INIT.name, FINI.name}}
        self._init = functions.get(INIT.name)
        self._fini = functions.get(FINI.name)
        self._module_name = module_name
        #: The module in which its code runs; ``None``: it is no file.
        self.module: ModuleType | None = sys.modules.get(module_name)
        #: State; see the table above.
        self._state = _State.LOADED

    @property
    def plugin_type(self) -> str:
        """The plugin type, such as ``sched/easy``."""
        return self.candidate.plugin_type

    @property
    def is_built_in(self) -> bool:
        """Whether it is one of rota's own plugins."""
        return self.candidate.source is Source.BUILT_IN

    @property
    def plugin_name(self) -> str:
        """The plugin's ``plugin_name``."""
        return self.candidate.identity.plugin_name if self.candidate.identity else self.plugin_type

    @property
    def errno(self) -> int:
        """The plugin's ``errno``; `SLURM_SUCCESS` if it has none."""
        try:
            value = getattr(self.container, "errno", SLURM_SUCCESS)
        except BaseException:  # noqa: BLE001  (an object may compute its attributes)
            return SLURM_SUCCESS
        return value if type(value) in {int, Errno} else SLURM_SUCCESS  # the module `errno` does not count

    def start(self, ctld: ControllerOf[Any]) -> None:
        """Call ``init``, with the controller if it takes an argument. A second call does nothing.

        Raises:
            PluginRefusedError: ``init`` failed or raised. The plugin is unloaded without ``fini``; ``errno`` is the
                plugin's own.
        """
        if self._state is _State.CLOSED:
            raise PluginRefusedError(self.candidate, ["it has been unloaded"])
        if self._state is _State.STARTED:
            return
        try:
            if self._init is not None:
                self._call_init(self._init, ctld)
            self._state = _State.STARTED
        finally:
            if self._state is not _State.STARTED:
                self._unload()

    def close(self, report: Callable[[str], object]) -> None:
        """Call ``fini`` if the plugin was started, and unload it. A second call does nothing.

        Args:
            report: Is called with a message if ``fini`` raises, which is no error.
        """
        started, self._state = self._state is _State.STARTED, _State.CLOSED
        try:
            if started and self._fini is not None:
                self._fini()
        except BaseException as exc:  # noqa: BLE001  (a plugin may raise anything)
            raise_if_interrupted()
            report(f"plugin {self.plugin_type} ({self.candidate.where}): fini raised {blame(exc, self.candidate)}")
        finally:
            self._unload()

    def _call_init(self, init: Callable[..., Any], ctld: ControllerOf[Any]) -> None:
        try:
            result = init(ctld) if accepts(init, 1) else init()
        except InputError:
            raise  # an error in the configuration, not in the plugin
        except BaseException as exc:
            raise_if_interrupted()
            errno = exc.errno if issubclass(type(exc), RotaError) else self._own_errno()  # type: ignore[attr-defined]
            raise PluginRefusedError(self.candidate, [f"init raised {blame(exc, self.candidate)}"], errno) from exc
        if type(result) in {int, Errno} and result == SLURM_SUCCESS:
            return
        hint = ": it must `return SLURM_SUCCESS`" if result is None else ""
        number = f", errno {self.errno}" if self.errno else ""
        problem = f"init returned {_shown(result)}{number}, expected SLURM_SUCCESS{hint}"
        raise PluginRefusedError(self.candidate, [problem], self._own_errno())

    def _own_errno(self) -> Errno | None:
        known = self.errno and self.errno in Errno.__members__.values()
        return Errno(self.errno) if known else None

    def _unload(self) -> None:
        self._state = _State.CLOSED
        forget(self._module_name)


def forget(name: str) -> None:
    """Remove a plugin's module and its submodules from ``sys.modules``."""
    module = sys.modules.pop(name, None)
    if not hasattr(module, "__path__"):
        return  # only a package has submodules, and there may be thousands of other modules
    for key in [key for key in sys.modules if key.startswith(name + ".")]:
        sys.modules.pop(key, None)


def blame(exc: BaseException, candidate: Candidate) -> str:
    """Describe an exception in one line, with the place in the plugin."""
    text = _shown(exc, str)
    return f"{type(exc).__name__} at {_place(exc, candidate.file)}" + (f": {text}" if text else "")


#: Of the class itself: an exception of a plugin may have an attribute of this name, which raises.
_traceback_of = BaseException.__dict__["__traceback__"].__get__


def _shown(value: object, text: Callable[[object], str] = repr) -> str:
    try:
        return " ".join(str.__str__(text(value))[:2000].split())
    except BaseException:  # noqa: BLE001  (even that may fail in a class of the plugin's own)
        return "(it cannot be printed)"


def _place(exc: BaseException, file: str) -> str:
    if type(exc) is SyntaxError and exc.filename:
        return f"{exc.filename}:{exc.lineno}"
    place, trace = file, _traceback_of(exc)
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:  # the innermost line of the plugin itself
            place = f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
