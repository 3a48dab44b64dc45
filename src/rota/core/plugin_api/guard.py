"""Calls of plugin functions: whatever a plugin does, the engine gets a valid result.

An exception, a result of the wrong type or a value out of range is a fault. It is reported with plugin, symbol and job,
and the engine uses its default instead: FIFO. A pass or callback that takes too long is a fault as well, but its result
is used. The time is measured with the driver's clock.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from rota.interfaces.stubs import sched as stubs
from rota.model import MAX_PRIORITY, SLURM_SUCCESS, Errno, PriorityFactors
from rota.resources import first_fit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.core.job import Job
    from rota.model import Association, PriorityFactorsRequest
    from rota.resources import Candidates, Needs

    #: Needs, and the arrays of the candidates: nodes, processors, busy, weights.
    _Question = tuple[Needs, bytes, bytes, bytes, bytes]

#: Exceptions of plugins that are caught. ``sys.exit()`` in a plugin does not stop the engine; Ctrl-C does.
PLUGIN_ERRORS = (Exception, SystemExit)
#: Number of seconds after which a call is reported as slow.
SLOW_S = 2.0
#: Largest number of candidates in all cached calls of the node selection plugin: some tens of MB.
_REMEMBERED = 2_000_000


class PluginGuard:
    """Makes guarded versions of a plugin's functions, and reports its faults.

    Args:
        container: The plugin's symbol container.
        report: Function that is called for each fault, with plugin, symbol, job id (or ``None``) and message.
        clock: Function that gives the real time in seconds; ``None``: slow calls are not reported.
    """

    __slots__ = ("_clock", "_container", "_report", "plugin_type")

    def __init__(
        self,
        container: object,
        report: Callable[[str, str, int | None, str], None],
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._container = container
        self._report = report
        self._clock = clock
        self.plugin_type = str(getattr(container, "plugin_type", "?"))

    def report(self, symbol: str, job_id: int | None, message: str) -> None:
        """Report a fault."""
        self._report(self.plugin_type, symbol, job_id, message)

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
        return f"{self.plugin_type}: {getattr(fn, '__name__', 'callback')}"

    def raised(self, symbol: str, job_id: int | None, error: BaseException) -> None:
        """Report an exception, with the innermost line of the plugin's code."""
        self._report(self.plugin_type, symbol, job_id, describe_error(error))

    def returned(self, symbol: str, job_id: int | None, value: object, expected: str) -> None:
        """Report a wrong result."""
        self._report(self.plugin_type, symbol, job_id, f"returned {_show(value)}; expected {expected}")

    def failed(self, symbol: str, job_id: int | None, value: object) -> None:
        """Report a return code other than SLURM_SUCCESS, with the plugin's errno if it has one."""
        errno = getattr(self._container, "errno", SLURM_SUCCESS)
        if not isinstance(errno, int) or errno == SLURM_SUCCESS:
            self.returned(symbol, job_id, value, "SLURM_SUCCESS (0)")
        else:
            name = Errno(errno).name if errno in Errno.__members__.values() else "unknown"
            self._report(self.plugin_type, symbol, job_id, f"returned {_show(value)} with errno {errno} ({name})")

    def slow(self, symbol: str, took: float) -> None:
        """Report a call that has taken too long."""
        self._report(self.plugin_type, symbol, None, f"took {took:.1f} s, and everything waited meanwhile")

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

    def about_job(self, symbol: str) -> Callable[[Job], None] | None:
        """Guard an ``int f(job_ptr)`` that is called for every job; ``None``: it is the stub."""
        fn = self.own(symbol)
        if fn is None:
            return None

        def call(job: Job) -> None:
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

    def priority(self, symbol: str) -> Callable[[int, Job], int]:
        """Guard a ``uint32_t f(last_prio, job_ptr)``; the default is one less than the last priority: FIFO."""
        fn = self.function(symbol)

        def call(last_prio: int, job: Job) -> int:
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
        """Guard a function that the plugin has passed to its controller; the result is ``None`` if it fails."""
        symbol, clock = getattr(fn, "__name__", "callback"), self._clock

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
    where = ""
    traceback = error.__traceback__
    while traceback is not None:
        where = f" at {traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return f"raised {type(error).__name__}: {_show(error, str)}{where}"


def _is_success(code: object) -> bool:
    """Whether a return code is SLURM_SUCCESS, the integer 0; ``False`` and ``None`` are not."""
    return _index(code) == SLURM_SUCCESS


def _index(value: object) -> int:
    """Convert an integer of any type, such as NumPy's, to an int; -1: it is not an integer."""
    if isinstance(value, bool):
        return -1
    try:
        return operator.index(value)  # type: ignore[arg-type] # the error is caught
    except PLUGIN_ERRORS:
        return -1


def _show(value: object, text: Callable[[object], str] = repr) -> str:
    """Format a plugin's value in one short line."""
    try:
        return " ".join(text(value).split())[:200]
    except PLUGIN_ERRORS:
        return f"a {type(value).__name__} that cannot be shown"


def fifo_priority(last_prio: int) -> int:
    """Give the priority that keeps jobs in order of submission: one below the last, at least 1."""
    return max(last_prio - 1, 1)


class PriorityCalls:
    """The priority plugin, guarded."""

    __slots__ = ("_factors", "_guard", "reconfig", "set", "set_assoc_usage", "set_max_cluster_usage")

    def __init__(self, guard: PluginGuard) -> None:
        self._guard = guard
        #: ``priority_p_set(last_prio, job_ptr)``
        self.set = guard.priority("priority_p_set")
        self.reconfig = guard.notify("priority_p_reconfig")
        self._factors = guard.function("priority_p_get_priority_factors_list")
        self.set_assoc_usage: Callable[[Association], None] = guard.notify("priority_p_set_assoc_usage")
        self.set_max_cluster_usage = guard.status("priority_p_set_max_cluster_usage")

    def factors(self, request: PriorityFactorsRequest) -> Sequence[PriorityFactors]:
        """``priority_p_get_priority_factors_list(req_msg)``; empty by default."""
        symbol = "priority_p_get_priority_factors_list"
        try:
            answer = self._factors(request)
        except PLUGIN_ERRORS as error:
            self._guard.raised(symbol, None, error)
            return []
        try:
            factors = [] if answer is None else list(answer)
        except PLUGIN_ERRORS:
            factors = [answer]
        if all(isinstance(item, PriorityFactors) for item in factors):
            return factors
        self._guard.returned(symbol, None, answer, "PriorityFactors in a list, or None")
        return []


class SelectCalls:
    """The node selection plugin, guarded. Without a plugin, or if it fails, the first nodes that fit are selected.

    Valid results are cached: the plugin must have no state, and most calls are repeated in the next backfill cycle.
    """

    __slots__ = ("_answers", "_guard", "_size", "_test")

    def __init__(self, guard: PluginGuard | None) -> None:
        self._guard = guard
        self._test = None if guard is None else guard.function("select_p_job_test")
        #: Results by needs and candidates. The weight of a node depends on nothing else, except with GPUs.
        self._answers: dict[_Question, list[tuple[int, int]] | None] = {}
        #: Number of candidates in all cached calls.
        self._size = 0

    def job_test(self, needs: Needs, candidates: Candidates) -> list[tuple[int, int]] | None:
        """``select_p_job_test(needs, candidates)``."""
        if self._guard is None or self._test is None:
            return first_fit(needs, candidates)
        question = (
            needs,
            candidates.nodes.tobytes(),
            candidates.cpus.tobytes(),
            b"" if candidates.busy is None else candidates.busy.tobytes(),
            candidates.weight.tobytes() if needs.gres_per_job or needs.gres_per_task else b"",
        )
        if question in self._answers:
            return self._answers[question]
        symbol = "select_p_job_test"
        try:
            picked = self._test(needs, candidates)
            if picked is None or _is_choice(picked, needs, candidates):
                self._remember(question, picked)
                return picked  # type: ignore[no-any-return] # it has been checked
        except PLUGIN_ERRORS as error:
            self._guard.raised(symbol, None, error)
        else:
            self._guard.returned(symbol, None, picked, "candidates with enough of their processors, or None")
        return first_fit(needs, candidates)

    def _remember(self, question: _Question, picked: list[tuple[int, int]] | None) -> None:
        self._size += len(question[1]) // 8
        if self._size > _REMEMBERED:
            self._answers.clear()
            self._size = 0
        self._answers[question] = picked if picked is None else list(picked)


def _is_choice(picked: list[tuple[int, int]], needs: Needs, candidates: Candidates) -> bool:
    """Whether a result is valid: enough nodes and processors, all of them candidates."""
    nodes = [node for node, _ in picked]
    if not len(set(nodes)) == len(nodes) >= max(needs.min_nodes, 1):
        return False
    positions = candidates.nodes.searchsorted(nodes).tolist()
    known, cpus, last = candidates.nodes, candidates.cpus, len(candidates.nodes)
    return sum(count for _, count in picked) >= needs.cpus and all(
        position < last and known[position] == node and 0 < count <= cpus[position]
        for position, (node, count) in zip(positions, picked, strict=True)
    )


class SchedCalls:
    """The scheduler plugin, guarded."""

    __slots__ = (
        "_guard",
        "freealloc",
        "initial_priority",
        "job_is_pending",
        "newalloc",
        "partition_change",
        "reconfig",
        "schedule",
    )

    def __init__(self, guard: PluginGuard) -> None:
        self._guard = guard
        self.reconfig = guard.status("slurm_sched_p_reconfig")
        self.schedule = guard.makes_pass("slurm_sched_p_schedule")
        self.newalloc = guard.about_job("slurm_sched_p_newalloc")
        self.freealloc = guard.about_job("slurm_sched_p_freealloc")
        self.initial_priority = guard.priority("slurm_sched_p_initial_priority")
        pending = "slurm_sched_p_job_is_pending"
        self.job_is_pending = guard.notify(pending) if guard.own(pending) else None
        self.partition_change = guard.notify("slurm_sched_p_partition_change")

    @property
    def statistics(self) -> object:
        """The plugin's statistics of its cycles; ``None``: it has none."""
        return self._guard.kept("statistics")

    def get_conf(self) -> str | None:
        """``slurm_sched_p_get_conf()``; ``None`` by default."""
        symbol = "slurm_sched_p_get_conf"
        try:
            text = self._guard.function(symbol)()
        except PLUGIN_ERRORS as error:
            self._guard.raised(symbol, None, error)
            return None
        if text is None or isinstance(text, str):
            return text
        self._guard.returned(symbol, None, text, "text or None")
        return None
