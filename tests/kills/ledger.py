"""What jobs and steps write down themselves: a line when they begin, and one when they end, in a file by command.

Each line is written at once and appended; what a process has written stays, whoever is killed afterwards.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_SAY = """\
say() {
  echo "$EPOCHREALTIME $1 $SLURM_JOB_ID ${SLURM_ARRAY_TASK_ID:--} ${SLURM_RESTART_COUNT:-0} $2 ${3:-0}" >> "$ledger"
}
"""
#: ``step LEDGER NAME SECONDS CODE``
_STEP = f"""\
#!/bin/bash
ledger=$1
{_SAY}
say begin "$2.$SLURM_PROCID"
sleep "$3"
say end "$2.$SLURM_PROCID" "$4"
exit "$4"
"""
#: The name of the batch script, or of the command of ``salloc``.
SCRIPT = "script"


class Line(NamedTuple):
    """A line."""

    time: float
    #: ``begin``, ``end``, or ``got``: what ``srun`` gave to a script.
    what: str
    job_id: int
    #: Of an array; ``-``: it is none.
    task: str
    restart: int
    #: The script or, as in ``s0.1``, a step and one of its tasks.
    who: str
    #: Exit code; below zero the signal.
    value: int


class Step(NamedTuple):
    """A step that is to be."""

    name: str
    seconds: float
    tasks: int
    code: int


class Ledger:
    """The files.

    Args:
        folder: Where they are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self._step = folder / "step"
        self._step.write_text(_STEP)
        self._step.chmod(0o755)

    def lines(self, tag: str) -> list[Line]:
        """Give what is written down of a command's jobs and steps."""
        path = self.folder / tag
        found = [text.split() for text in path.read_text().splitlines()] if path.exists() else []
        return [Line(float(one[0]), one[1], int(one[2]), one[3], int(one[4]), one[5], int(one[6])) for one in found]

    def step(self, tag: str, step: Step) -> list[str]:
        """Give the program of a step with its arguments."""
        return [str(self._step), str(self.folder / tag), step.name, f"{step.seconds:.2f}", str(step.code)]

    def script(self, tag: str, seconds: float, codes: Sequence[int], steps: Sequence[Step]) -> str:
        """Give a script that runs some steps, sleeps, and ends with the code of its task, or by that signal."""
        srun = [
            f"srun -J {step.name} -n {step.tasks} {shlex.join(self.step(tag, step))}; say got {step.name} $?"
            for step in steps
        ]
        return "\n".join(
            [
                "#!/bin/bash",
                f"ledger={shlex.quote(str(self.folder / tag))}",
                _SAY,
                f"say begin {SCRIPT}",
                *srun,
                f"sleep {seconds:.2f}",
                f"codes=({' '.join(map(str, codes))})",
                "code=${codes[${SLURM_ARRAY_TASK_ID:-0}]}",
                f"say end {SCRIPT} $code",
                "[ $code -ge 0 ] || kill $code $$",
                "exit $code",
                "",
            ]
        )
