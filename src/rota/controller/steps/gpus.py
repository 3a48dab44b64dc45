"""Whether a job has the GPUs that a step of it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.controller.steps.layout import StepError

if TYPE_CHECKING:
    from rota.commands.srun import StepRequest
    from rota.controller.run import Run
    from rota.controller.steps.layout import Counts

#: Options of a step that are about GPUs.
_OPTIONS = frozenset({"cpus-per-gpu", "gpus-per-socket", "ntasks-per-gpu"})


class GpusError(StepError):
    """A step asks for GPUs that its job does not have; each argument says why."""

    def __str__(self) -> str:
        return "Invalid generic resource (gres) specification"


def check_gpus(request: StepRequest, counts: Counts, run: Run) -> None:
    """Check that a job has the GPUs that a step asks for.

    Args:
        request: What the step asks for.
        counts: How many tasks it has, on how many nodes.
        run: The run of its job.

    Raises:
        GpusError: it has too few, or the step asks for fewer than it has nodes.
        StepError: they are too few for its tasks.
    """
    asked, of_node, of_task = request.gpus, max(request.gpus_per_node, 0), request.gpus_per_task
    if not (asked or of_node or of_task or (_OPTIONS & request.texts.keys())):
        return
    by_node = [len(one.gpus) for one in run.devices.values()]
    if not sum(by_node):
        raise GpusError("Step requested GRES but job doesn't have GRES")
    of_job = run.job.request
    if asked > sum(by_node):
        why = f"Step requested gres=gpu:{asked} is more than the job's gres=gpu:{sum(by_node)}"
        raise GpusError(*([why] if of_job.gres_per_job else []))
    if 0 < asked < counts.least:
        raise GpusError(f"Step requested gres=gpu:{asked} is less than the requested min nodes={counts.least}")
    if of_node > max(by_node):
        why = f"Step requested gres_per_node=gpu:{of_node} is more than the job's gres_per_node=gpu:{max(by_node)}"
        raise GpusError(*([] if of_job.gres_per_job or of_job.gres_per_task else [why]))
    if of_task * counts.tasks > sum(by_node):
        raise StepError("More processors requested than permitted")
