"""The options in values of slurm.conf: of ``SchedulerParameters``, ``PriorityFlags``, ``SelectTypeParameters``.

Options that rota heeds are in `HEEDED`. The documentation shows these tables, and mistyped options are recognised by
them. Options that Slurm has and rota does not model are in `IGNORED`, with what follows from it; an empty text: nothing
does. An option that begins with the minor type of a plugin and an underscore is that plugin's own: ``mine_alpha=3`` for
``sched/mine``.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Option(NamedTuple):
    """An option that rota heeds."""

    name: str
    #: Slurm's default, with its unit; ``off``: the option is a flag, which has no value.
    default: str
    meaning: str
    #: Types of the plugins that heed it; empty: it is heeded whatever the plugins are.
    plugins: tuple[str, ...] = ()

    @property
    def is_flag(self) -> bool:
        """Whether it has no value."""
        return self.default == "off"


_BACKFILL = ("sched/backfill",)
_SCHEDULER = (
    Option("default_queue_depth", "100", "largest number of jobs tested in a pass (one more, as in Slurm). Every "
           "`sched_interval` a pass tests the whole queue"),
    Option("partition_job_depth", "0", "largest number of jobs tested of each partition; 0: no bound"),
    Option("sched_max_job_start", "0", "largest number of jobs started in a pass; 0: no bound. The others are tested "
           "after `sched_interval` at the latest"),
    Option("sched_interval", "60 s", "time between passes over the whole queue, if anything has changed since the last "
           "one; -1: there are no main passes, and only the scheduler plugin starts jobs"),
    Option("sched_min_interval", "2 µs", "smallest time between passes; below one second it has no effect"),
    Option("batch_sched_delay", "3 s", "smallest time between passes after submissions, changes and, without an "
           "`Epilog`, ends of jobs that were not stopped"),
    Option("defer", "off", "passes after other events are delayed like those after submissions; `batch_sched_delay` is "
           "3 s then unless it is set"),
    Option("bf_min_age_reserve", "0 s", "a job that has waited less blocks no others, and is not planned by backfill"),
    Option("bf_min_prio_reserve", "0", "the same for a job of lower priority"),
    Option("assoc_limit_stop", "off", "a job that a limit holds back blocks the jobs behind it"),
    Option("preempt_reorder_count", "1", "how often preemptable jobs are reordered, so that few are preempted"),
    Option("preempt_strict_order", "off", "the order of preemptable jobs is kept"),
    Option("preempt_youngest_first", "off", "those that started last are preempted first"),
    Option("requeue_delay", "0 s", "how long a requeued job waits at least; Slurm has 120 s, without an option"),
    Option("max_switch_wait", "300 s", "for how long a job waits at most for as few switches as it asks for"),
    Option("max_array_tasks", "MaxArraySize", "largest number of tasks of a job array"),
    Option("max_script_size", "4 MiB", "largest job script of a live cluster, bytes"),
    Option("easy_order", "fcfs", "rota's own: order of the candidates for backfilling, `fcfs` or `sjf`",
           ("sched/easy",)),
    Option("bf_interval", "30 s", "between cycles; -1: none", ("sched/backfill", "sched/builtin")),
    Option("bf_max_job_test", "500", "jobs tested in a cycle; 50 with sched/builtin", ("sched/backfill",
           "sched/builtin")),
    Option("bf_resolution", "60 s", "times of reservations are multiples of this"),
    Option("bf_window", "1440 minutes", "how far to plan", _BACKFILL),
    Option("bf_max_job_start", "0", "jobs started in a cycle; 0: no bound, here and below", _BACKFILL),
    Option("bf_max_job_part", "0", "jobs tested of each partition", _BACKFILL),
    Option("bf_max_job_user", "0", "jobs tested of each user", _BACKFILL),
    Option("bf_max_job_user_part", "0", "jobs tested of each user in each partition", _BACKFILL),
    Option("bf_max_job_assoc", "0", "jobs tested of each association; counts instead of `bf_max_job_user`", _BACKFILL),
    Option("bf_max_job_array_resv", "20", "tasks planned of each job array", _BACKFILL),
    Option("bf_node_space_size", "bf_max_job_test", "slots in the plan, above which the cycle ends", _BACKFILL),
    Option("bf_job_part_count_reserve", "0", "jobs planned of each partition; later ones start now or are not planned",
           _BACKFILL),
    Option("bf_one_resv_per_job", "off", "a job is planned in one of its partitions only", _BACKFILL),
    Option("bf_licenses", "off", "licences are planned like nodes; else jobs that wait for licences are skipped",
           _BACKFILL),
    Option("bf_busy_nodes", "off", "jobs that start later get nodes in use before others of the same weight",
           _BACKFILL),
    Option("bf_running_job_reserve", "off", "running jobs with whole nodes reserve these until their expected ends",
           _BACKFILL),
    Option("bf_window_linear", "0 s",
           "running jobs that end within 30 s are assumed to end together; the interval then "
           "grows by this each time (0: it doubles). With select/linear jobs are assumed to end one by one", _BACKFILL),
    Option("time_min_as_soft_limit", "off", "a job with `--time-min` is expected to end after that time, but gets its "
           "whole time limit", _BACKFILL),
    Option("bf_test_time", "0 µs",
           "rota's own: assumed duration of the test of a job. `sdiag` of the cluster tells it: "
           "the mean cycle over its mean depth", _BACKFILL),
    Option("bf_yield_interval", "2,000,000 µs", "duration of tests after which the cycle yields", _BACKFILL),
    Option("bf_yield_sleep", "500,000 µs", "for how long it yields", _BACKFILL),
    Option("bf_yield_rpc_cnt", "20", "accepted without effect: there are no RPCs", _BACKFILL),
    Option("bf_continue", "off", "after yielding it continues with its jobs even if jobs or nodes have changed; else a "
           "change ends it", _BACKFILL),
    Option("bf_max_time", "bf_interval", "seconds after which the cycle ends, including the time for which it yielded",
           _BACKFILL),
)  # fmt: skip
_MULTIFACTOR = ("priority/multifactor",)
_PRIORITY_FLAGS = tuple(
    Option(name, "off", meaning, plugins)
    for name, meaning, plugins in (
        ("ACCRUE_ALWAYS", "age accrues from the submission on", _MULTIFACTOR),
        ("CALCULATE_RUNNING", "priorities of running jobs are computed and shown as well", _MULTIFACTOR),
        ("INCR_ONLY", "a priority never decreases", _MULTIFACTOR),
        ("SMALL_RELATIVE_TO_TIME", "job size is CPUs for each minute of the time limit", _MULTIFACTOR),
        ("NO_NORMAL_ASSOC", "association priorities count raw, not normalised", _MULTIFACTOR),
        ("NO_NORMAL_PART", "so do partition priorities", _MULTIFACTOR),
        ("NO_NORMAL_QOS", "so do QOS priorities", _MULTIFACTOR),
        ("NO_NORMAL_TRES", "so do TRES", _MULTIFACTOR),
        ("NO_NORMAL_ALL", "all four", _MULTIFACTOR),
        ("MAX_TRES", "of the TRES of a node only the largest product is billed", ()),
        ("MAX_TRES_GRES", "the largest of CPU, memory and nodes is billed, and all GRES", ()),
        ("FAIR_TREE", "Fair Tree, which is the default", _MULTIFACTOR),
        ("NO_FAIR_TREE", "classic fair-share", _MULTIFACTOR),
        ("DEPTH_OBLIVIOUS", "depth-oblivious fair-share", _MULTIFACTOR),
        ("COMPAT", "rota's own: Fair Tree as in Slurm's code, not as documented", _MULTIFACTOR),
        ("V100", "rota's own: the plugin of Slurm 2.0", _MULTIFACTOR),
    )
)
_SELECT = tuple(
    Option(name, "off", meaning)
    for name, meaning in (
        ("CR_Core", "whole cores are allocated"),
        ("CR_Core_Memory", "and memory; the default"),
        ("CR_CPU", "single threads are allocated"),
        ("CR_CPU_Memory", "and memory"),
        ("CR_Socket", "whole sockets are allocated"),
        ("CR_Socket_Memory", "and memory"),
        ("CR_Memory", "memory is allocated, with select/linear"),
        ("CR_LLN", "the least loaded nodes are allocated first"),
        ("CR_ONE_TASK_PER_CORE", "a core has one task, unless `--ntasks-per-core` says otherwise"),
        ("FIRST_FIT", "rota's: a job of one node gets the first node that suffices, as in Slurm from 26.05 on"),
    )
)
#: Options by key. The keys are in lower case, as in `ClusterConfig.parameters`.
HEEDED: dict[str, tuple[Option, ...]] = {
    "schedulerparameters": _SCHEDULER,
    "selecttypeparameters": _SELECT,
    "priorityflags": _PRIORITY_FLAGS,
    "dependencyparameters": (
        Option("kill_invalid_depend", "off", "jobs whose dependencies can never be satisfied are cancelled"),
    ),
}
_ONE_OF = frozenset(name for name, *_ in _SELECT if name not in {"CR_LLN", "CR_ONE_TASK_PER_CORE", "FIRST_FIT"})
_RESOURCES = frozenset(name.lower() for name in _ONE_OF)
#: Options, in lower case, of which one takes the place of others.
OPPOSITES: dict[str, frozenset[str]] = {
    **{name: _RESOURCES - {name} for name in _RESOURCES},
    "fair_tree": frozenset({"no_fair_tree", "depth_oblivious"}),
    "no_fair_tree": frozenset({"fair_tree"}),
    "depth_oblivious": frozenset({"fair_tree"}),
    "max_tres": frozenset({"max_tres_gres"}),
    "max_tres_gres": frozenset({"max_tres"}),
}
_NO_HET = "rota has no heterogeneous jobs"
_NO_TIME = "a pass takes no time here, so that nothing ends it early"
#: Options that rota does not model, and what follows; empty: schedules are the same.
IGNORED: dict[str, dict[str, str]] = {
    "schedulerparameters": {
        "allow_zero_lic": "jobs that ask for more licences than there are, are refused",
        "bf_allow_magnetic_resv": "jobs are not planned in magnetic reservations that they do not name",
        "bf_hetjob_immediate": _NO_HET,
        "bf_hetjob_prio": _NO_HET,
        "bf_ignore_newly_avail_nodes": "a cycle that has yielded sees nodes that have become free",
        "bf_topopt_enable": "jobs are placed without regard to switches",
        "bf_topopt_iterations": "jobs are placed without regard to switches",
        "build_queue_timeout": _NO_TIME,
        "correspond_after_task_cnt": "",
        "default_gbytes": "sizes of memory without a unit are MiB",
        "defer_batch": "passes after submissions of batch jobs are not delayed by it: use defer",
        "delay_boot": "",
        "disable_hetjob_steps": "",
        "disable_job_shrink": "",
        "enable_hetjob_steps": "",
        "enable_job_state_cache": "",
        "enable_user_top": "",
        "extra_constraints": "constraints on node extras are not known",
        "ignore_numa": "",
        "ignore_prefer_validation": "",
        "inventory_interval": "",
        "kill_invalid_depend": "write DependencyParameters=kill_invalid_depend",
        "max_depend_depth": "dependencies are followed to any depth",
        "max_rpc_cnt": "",
        "max_sched_time": _NO_TIME,
        "max_submit_line_size": "",
        "nohold_on_prolog_fail": "",
        "no_backup_scheduling": "",
        "no_env_cache": "",
        "pack_serial_at_end": "serial jobs are placed as others are",
        "permit_job_expansion": "",
        "preempt_send_user_signal": "",
        "reduce_completing_frag": "",
        "salloc_wait_nodes": "",
        "sbatch_wait_nodes": "",
        "spec_cores_first": "no cores are set apart for the system",
        "step_retry_count": "",
        "step_retry_time": "",
        "whole_hetjob": _NO_HET,
    },
    "selecttypeparameters": {
        "CR_Core_Default_Dist_Block": "",
        "CR_Pack_Nodes": "tasks are spread over the nodes of a job as without it",
        "ENFORCE_BINDING_GRES": "jobs get GRES whatever socket these are bound to",
        "LL_SHARED_GRES": "shared GRES are allocated in order",
        "MULTIPLE_SHARING_GRES_PJ": "there are no shared GRES",
        "NHC_NO": "",
        "NHC_NO_STEPS": "",
        "NHC_ABSOLUTELY_NO": "",
        "ONE_TASK_PER_SHARING_GRES": "there are no shared GRES",
        "OTHER_CONS_RES": "",
        "OTHER_CONS_TRES": "",
    },
    "priorityflags": {},
    "dependencyparameters": {
        "disable_remote_singleton": "",
        "max_depend_depth": "dependencies are followed to any depth",
    },
}
#: The plugins that come with rota.
BUILT_IN = frozenset(
    {
        *("priority/basic", "priority/multifactor", "priority/none", "select/cons_tres", "select/none"),
        *("sched/backfill", "sched/builtin", "sched/conservative", "sched/easy", "sched/none"),
    }
)
_BY_NAME = {
    key: {one.name.lower(): one for one in options} | {name.lower(): None for name in IGNORED[key]}
    for key, options in HEEDED.items()
}


def key_of(name: str) -> str | None:
    """Give the key, in lower case, of which a word is an option; ``None``: it is no option that is known."""
    keys = [key for key, names in _BY_NAME.items() if name.lower() in names]
    return next((key for key in keys if find_option(key, name)), keys[0] if keys else None)


def find_option(key: str, name: str) -> Option | None:
    """Give an option that rota heeds."""
    return _BY_NAME[key].get(name.lower())


def consequence(key: str, name: str) -> str:
    """Say what follows from rota's not modelling an option; empty: nothing."""
    return {one.lower(): text for one, text in IGNORED[key].items()}.get(name.lower(), "")


def is_known(key: str, name: str) -> bool:
    """Whether Slurm or rota has this option."""
    return name.lower() in _BY_NAME[key]


def option_names(key: str) -> list[str]:
    """Name the options of a key, as they are written."""
    return [one.name for one in HEEDED[key]] + list(IGNORED[key])


def names_in(value: str) -> list[str]:
    """Split a value into its options, with their values: ``bf_interval=60``."""
    return [item.strip() for item in value.split(",") if item.strip()]


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Give ``; did you mean …?`` with the name that a word is most like; empty: it is like none."""
    written = {name.lower(): name for name in names}
    close = get_close_matches(word.lower(), written, 1, cutoff=0.75)
    return f"; did you mean {written[close[0]]}?" if close else ""
