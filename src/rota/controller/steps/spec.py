"""What a client is told of a step that it is to start: see `rota.client.step`."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from rota.commands.script_environment import exported
from rota.commands.submission import join_path, quietness
from rota.controller.run_environment import OWN_JOB, VISIBLE, expand, run_environment
from rota.controller.steps.environment import gpu_binding, gpu_environment, node_environment, step_environment
from rota.model.bounds import MOST_NODES, count_numbers, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rota.commands.srun import StepRequest
    from rota.controller.run import Run
    from rota.controller.steps.layout import Layout
    from rota.controller.wire import Call
    from rota.model import ClusterConfig
    from rota.model.step import StepRecord

#: Ways in which the tasks of MPI programs learn of each other.
MPI_TYPES = ("none", "pmi2", "pmix")
#: Patterns in the names of files of one task, or of those on one node.
_OF_TASKS = re.compile(r"%\d*[tnN]")
#: Variables that belong to the process that had them: it may be a task of an MPI program.
_NOT_HANDED_ON = {"SLURM_TASK_PID", "ROTA_STATE", OWN_JOB, "PMI_FD", "PMI_JOBID", "PMI_RANK", "PMI_SIZE"}
_NOT_HANDED_ON |= {"PMIX_NAMESPACE", "PMIX_RANK"}
#: Variables of a job that its steps have from ``srun`` alone: in a batch script it has them.
_FROM_SRUN = ("SLURM_JOB_GPUS", "SLURM_MEM_PER_CPU", "SLURM_NODE_ALIASES")


def step_spec(
    run: Run,
    step: StepRecord,
    request: StepRequest,
    layout: Layout,
    call: Call,
    *,
    cluster: tuple[str, str],
    config: ClusterConfig,
    mpi: str,
    programs: Sequence[tuple[str, ...]] = (),
) -> dict[str, Any]:
    """Describe a step.

    Args:
        run: The run of its job.
        step: The step.
        request: What it asks for.
        layout: Where its tasks run.
        call: The call of ``srun``.
        cluster: Name of the cluster, and path of slurm.conf.
        config: The machine's slurm.conf.
        mpi: How its tasks learn of each other: a name in `MPI_TYPES`.
        programs: The program of each task; empty: all run the same.

    Returns:
        JSON data.
    """
    texts = request.texts
    environment = {name: value for name, value in call.environment.items() if name not in _NOT_HANDED_ON}
    if "export" in texts:
        environment = exported(texts["export"], environment, slurm=True)
    of_job = run_environment(run, *cluster)
    if run.gpus_on_first_node:  # a step has GPUs of its own, or none
        for name in (*VISIBLE, "SLURM_GPUS_ON_NODE"):
            environment.pop(name, None)
            of_job.pop(name, None)
    for name in _FROM_SRUN:
        if name not in environment:
            of_job.pop(name, None)
    if OWN_JOB not in call.environment:
        of_job["SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_0"] = of_job["SLURM_JOB_CPUS_PER_NODE"]
    if mpi != "none":
        of_job["SLURM_MPI_TYPE"] = mpi
    tasks_of_nodes, binding = layout.tasks_of_nodes(), gpu_binding(request)
    tasks_by_node = [len(each) for each in tasks_of_nodes]
    of_step = step_environment(int(step.step_id), request, layout, tasks_by_node, call.umask)
    env = {**environment, **of_job, **of_step}
    if OWN_JOB in call.environment and "distribution" not in texts:
        env.pop("SLURM_DISTRIBUTION", None)
    local_ids = {task: local for each in tasks_of_nodes for local, task in enumerate(each)}
    tasks = [
        {
            "node": node,
            "env": {
                "SLURM_PROCID": str(task),
                "SLURM_LOCALID": str(local_ids[task]),
                **gpu_environment(layout.gres[node].gpus, binding, local_ids[task]),
            },
            **({"argv": list(programs[task])} if programs else {}),
        }
        for task, node in enumerate(layout.node_of_task)
    ]
    files = _Files(run, step.step_id, layout, (call.work_dir, join_path(call.work_dir, texts.get("chdir", ""))))
    stdout = files.output(texts.get("output", ""))
    return {
        "key": call.key,
        "job": run.job.job_id,
        "step": int(step.step_id),
        "argv": list(request.argv),
        "env": env,
        "nodes": [node_environment(index, layout, each) for index, each in enumerate(tasks_of_nodes)],
        "tasks": tasks,
        "cwd": files.directory,
        "stdin": files.input(texts.get("input", "")),
        "stdout": stdout,
        "stderr": files.output(texts["error"]) if texts.get("error") else stdout,
        "merged": not texts.get("error"),
        "append": texts.get("open-mode", "").startswith("a"),
        "label": "label" in texts,
        "unbuffered": "unbuffered" in texts,
        "pty": "pty" in texts,
        "quiet": quietness(texts),
        "quit_on_interrupt": bool({"quit-on-interrupt", "disable-status"} & texts.keys()),
        "kill_on_bad_exit": bool(int(texts.get("kill-on-bad-exit", config.get("KillOnBadExit", "0")) or 1)),
        "wait": int(texts.get("wait", "") or 0),
        "time_limit": step.time_limit,
        "kill_wait": config.integer("KillWait", 30, 0, 65533),
        "mpi": mpi,
    }


class _Files:
    """The files of a step's tasks.

    Args:
        run: The run of its job.
        step_id: Its id.
        layout: Where its tasks run.
        directories: That of ``srun``, in which files of all tasks are, and that of the tasks, for files of one.
    """

    def __init__(self, run: Run, step_id: str, layout: Layout, directories: tuple[str, str]) -> None:
        self._run = run
        self._step_id = step_id
        self._layout = layout
        self._common, self.directory = directories

    def output(self, text: str) -> Any:
        """Say where output goes: ``all``, ``none``, the number of a task, a path, or a path for each task."""
        if text in {"", "all", "none"}:
            return text or "all"
        if text.isascii() and text.isdigit() and int(text) < len(self._layout.node_of_task):
            return int(text)
        paths = [self._path(text, task) for task in range(len(self._layout.node_of_task))]
        return paths[0] if len(set(paths)) == 1 else paths

    def input(self, text: str) -> Any:
        """Say where input comes from, as `output` does."""
        return self.output(text)

    def _path(self, text: str, task: int) -> str:
        index = self._layout.node_of_task[task]
        step_id = self._step_id
        more = {"J": f"{self._run.job.job_id}.{step_id}", "s": step_id, "t": str(task), "n": str(index)}
        directory = self.directory if _OF_TASKS.search(text) else self._common
        return join_path(directory, expand(text, self._run.job, self._layout.nodes[index], more))


def read_programs(text: str, path: str, tasks: int) -> list[tuple[str, ...]]:
    """Read the programs of ``--multi-prog``: lines of task numbers, a program and its arguments.

    ``%t`` stands for the number of the task, ``%o`` for its place among the numbers of its line.

    Args:
        text: The file.
        path: Its path, for messages.
        tasks: The number of tasks.

    Raises:
        ValueError: a task has no program; the text is Slurm's.
    """
    found: dict[int, tuple[str, ...]] = {}
    left = MOST_NODES
    for line in text.splitlines():
        try:
            numbers, *argv = shlex.split(line, comments=True) or [""]
        except ValueError as error:
            raise ValueError(f"{path}: {line!r}: {error}") from None
        if not numbers:
            continue
        chosen = list(range(tasks)) if numbers == "*" else _numbers(numbers, path)
        left -= len(chosen)
        if left < 0:
            raise ValueError(f"{path}: its lines name more than {MOST_NODES:,} tasks")
        for place, task in enumerate(chosen):
            marks: Mapping[str, str] = {"%t": str(task), "%o": str(place)}
            found.setdefault(task, tuple(_replaced(word, marks) for word in argv))
    for task in range(tasks):
        if not found.get(task):
            raise ValueError(f"Configuration file {path} invalid, no record for task id {task}")
    return [found[task] for task in range(tasks)]


def _numbers(text: str, path: str) -> list[int]:
    found: list[int] = []
    if count_numbers(text) > MOST_NODES:
        raise ValueError(f"{path}: {quoted(text)} names more than {MOST_NODES:,} tasks")
    for item in text.split(","):
        low, dash, high = item.partition("-")
        if not low.isdigit() or (dash and not high.isdigit()) or int(high or low) >= 1 << 20:
            raise ValueError(f"{path}: {quoted(text)} is no list of tasks")
        found += range(int(low), int(high or low) + 1)
    return found


def _replaced(word: str, marks: Mapping[str, str]) -> str:
    for mark, value in marks.items():
        word = word.replace(mark, value)
    return word
