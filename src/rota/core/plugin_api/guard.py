"""Calls of plugin functions: whatever a plugin does, the engine gets a valid result.

An exception, a result of the wrong type or a value out of range is a fault. It is reported with plugin, symbol and job,
and the engine uses its default instead: FIFO. A pass or callback that takes too long is a fault as well, but its result
is used. The time is measured with the driver's clock. What a plugin hands to its controller is checked there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.core.effects import PluginFault
from rota.core.plugin_api.values import class_name, shown, whole
from rota.interfaces.stubs import sched as stubs
from rota.model import MAX_PRIORITY, SLURM_SUCCESS, Errno

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.core.job_view import PluginJob

#: What plugins may raise and is caught: everything. A driver in which Ctrl-C raises KeyboardInterrupt has to see for
#: itself whether it was pressed.
PLUGIN_ERRORS = BaseException
#: Number of seconds after which a call is reported as slow.
SLOW_S = 2.0


class PluginGuard:
    """Makes guarded versions of a plugin's functions, and reports its faults.

    Args:
        container: The plugin's symbol container.
        report: Function that is called with each fault.
        clock: Function that gives the real time in seconds; ``None``: slow calls are not reported.
    """

    __slots__ = ("_clock", "_container", "_report", "plugin_type")

    def __init__(
        self,
        container: object,
        report: Callable[[PluginFault], object],
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._container = container
        self._report = report
        self._clock = clock
        self.plugin_type = str(getattr(container, "plugin_type", "?"))

    def report(
        self,
        symbol: str,
        job_id: int | None,
        message: str,
        error: BaseException | None = None,
        *,
        slow: bool = False,
    ) -> None:
        """Report a fault."""
        self._report(
            PluginFault(plugin=self.plugin_type, symbol=symbol, job_id=job_id, message=message, error=error, slow=slow)
        )

    def function(self, symbol: str) -> Callable[..., Any]:
        """Give one of the plugin's functions."""
        fn: Callable[..., Any] = getattr(self._container, symbol)
        return fn

    def own(self, symbol: str) -> Callable[..., Any] | None:
        """Give a function of the scheduler plugin; ``None``: it is the stub, which need not be called."""
        fn = self.function(symbol)
        return None if fn is getattr(stubs, symbol) else fn

    def kept(self, name: str) -> object:
        """Give an attribute of the plugin; ``None``: it has none of this name."""
        return getattr(self._container, name, None)

    def name_of(self, fn: Callable[..., object]) -> str:
        """Give the names of the plugin and of one of its functions."""
        name = getattr(fn, "__name__", "callback")
        return f"{self.plugin_type}: {name if type(name) is str else 'callback'}"

    def raised(self, symbol: str, job_id: int | None, error: BaseException) -> None:
        """Report an exception, with the innermost line of the plugin's code."""
        self.report(symbol, job_id, describe_error(error), error)

    def returned(self, symbol: str, job_id: int | None, value: object, expected: str) -> None:
        """Report a wrong result."""
        self.report(symbol, job_id, f"returned {shown(value)}; expected {expected}")

    def failed(self, symbol: str, job_id: int | None, value: object) -> None:
        """Report a return code other than SLURM_SUCCESS, with the plugin's errno if it has one."""
        try:
            errno = getattr(self._container, "errno", SLURM_SUCCESS)
        except PLUGIN_ERRORS:
            errno = SLURM_SUCCESS
        if type(errno) not in {int, Errno} or errno == SLURM_SUCCESS:
            self.returned(symbol, job_id, value, "SLURM_SUCCESS (0)")
        else:
            name = Errno(errno).name if errno in Errno.__members__.values() else "unknown"
            self.report(symbol, job_id, f"returned {shown(value)} with errno {errno} ({name})")

    def slow(self, symbol: str, took: float) -> None:
        """Report a call that has taken too long."""
        self.report(symbol, None, f"took {took:.1f} s, and everything waited meanwhile", slow=True)

    def status(self, symbol: str) -> Callable[..., bool]:
        """Guard an ``int f(...)`` that has no job; the result is whether it returned SLURM_SUCCESS."""
        fn = self.function(symbol)

        def call(*args: object) -> bool:
            try:
                code = fn(*args)
            except PLUGIN_ERRORS as error:
                self.raised(symbol, None, error)
                return False
            if _is_success(code):
                return True
            self.failed(symbol, None, code)
            return False

        return call

    def makes_pass(self, symbol: str) -> Callable[[], bool] | None:
        """Guard an ``int f(void)`` that makes a pass, like `status`; slow calls are reported. ``None``: the stub."""
        fn, clock = self.own(symbol), self._clock
        if fn is None:
            return None

        def call() -> bool:
            begun = clock() if clock is not None else 0.0
            try:
                code = fn()
            except PLUGIN_ERRORS as error:
                self.raised(symbol, None, error)
                return False
            if clock is not None and (took := clock() - begun) > SLOW_S:
                self.slow(symbol, took)
            if (type(code) is int and code == SLURM_SUCCESS) or _is_success(code):
                return True
            self.failed(symbol, None, code)
            return False

        return call

    def about_job(self, symbol: str) -> Callable[[PluginJob], None] | None:
        """Guard an ``int f(job_ptr)`` that is called for every job; ``None``: it is the stub."""
        fn = self.own(symbol)
        if fn is None:
            return None

        def call(job: PluginJob) -> None:
            try:
                code = fn(job)
            except PLUGIN_ERRORS as error:
                self.raised(symbol, job.job_id, error)
                return
            if not _is_success(code):
                self.failed(symbol, job.job_id, code)

        return call

    def notify(self, symbol: str) -> Callable[..., None]:
        """Guard a ``void f(...)``."""
        fn = self.function(symbol)

        def call(*args: object) -> None:
            try:
                fn(*args)
            except PLUGIN_ERRORS as error:
                self.raised(symbol, None, error)

        return call

    def priority(self, symbol: str) -> Callable[[int, PluginJob], int]:
        """Guard a ``uint32_t f(last_prio, job_ptr)``; the default is one less than the last priority: FIFO."""
        fn = self.function(symbol)

        def call(last_prio: int, job: PluginJob) -> int:
            try:
                value = fn(last_prio, job)
            except PLUGIN_ERRORS as error:
                self.raised(symbol, job.job_id, error)
                return fifo_priority(last_prio)
            if type(value) is int and 0 <= value <= MAX_PRIORITY:
                return value
            index = _index(value)
            if 0 <= index <= MAX_PRIORITY:
                return index
            self.returned(symbol, job.job_id, value, "an integer from 0 to 2**32 - 1")
            return fifo_priority(last_prio)

        return call

    def callback(self, fn: Callable[..., object]) -> Callable[..., object]:
        """Guard a function that the plugin has passed to its controller; the result is ``None`` if it fails.

        Raises:
            TypeError: it is no function.
        """
        if not callable(fn):
            raise TypeError(f"{shown(fn)} is no function")
        name, clock = getattr(fn, "__name__", "callback"), self._clock
        symbol = name if type(name) is str else "callback"  # it may be any object that can be called

        def call(*args: object) -> object:
            begun = clock() if clock is not None else 0.0
            try:
                result = fn(*args)
            except PLUGIN_ERRORS as error:
                self.raised(symbol, None, error)
                return None
            if clock is not None and (took := clock() - begun) > SLOW_S:
                self.slow(symbol, took)
            return result

        return call


def describe_error(error: BaseException) -> str:
    """Describe an exception, with the innermost line of code that raised it."""
    innermost = of_plugin = ""
    traceback = _traceback_of(error)
    while traceback is not None:
        innermost = f" at {traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno}"
        if not str(traceback.tb_frame.f_globals.get("__name__")).startswith("rota."):
            of_plugin = innermost
        traceback = traceback.tb_next
    return f"raised {class_name(error)}: {shown(error, str)}{of_plugin or innermost}"


#: Of the class itself: exceptions of plugins may have attributes of these names, which raise.
_traceback_of = BaseException.__dict__["__traceback__"].__get__


def _is_success(code: object) -> bool:
    """Whether a return code is SLURM_SUCCESS, the integer 0; ``False`` and ``None`` are not."""
    return _index(code) == SLURM_SUCCESS


def _index(value: object) -> int:
    """Convert an integer of any type, such as NumPy's, to an int; -1: it is not an integer."""
    if type(value) is int:
        return value
    if type(value) is bool:
        return -1
    try:
        return whole(value)
    except PLUGIN_ERRORS:
        return -1


def fifo_priority(last_prio: int) -> int:
    """Give the priority that keeps jobs in order of submission: one below the last, at least 1."""
    return max(last_prio - 1, 1)
