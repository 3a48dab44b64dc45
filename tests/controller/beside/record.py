"""Record what a real Slurm tells in the scenarios: ``python -m tests.controller.beside.record [SCENARIO …]``.

It needs a Slurm 22.05 whose commands are on the path, slurmrestd among them, with nothing in its queue, and with the
lines of ``slurm.conf`` beside this file. Whoever runs it has to be an administrator of it. Named scenarios alone are
recorded anew. That of jobs out of memory was recorded with ``task/cgroup`` and ``ConstrainRAMSpace=yes`` on version 1
of control groups.
"""

from __future__ import annotations

import os
import sys

from .answers import HERE, SCENARIOS, read_recording, read_usual, usual_of, write, write_usual
from .machine import Machine

_RECORDED = HERE / "recorded"


def main() -> None:
    """Record."""
    chosen = sys.argv[1:] or SCENARIOS
    kept = {}
    usual_file = HERE / "usual.txt"
    before = read_usual(usual_file.read_text())
    if sys.argv[1:]:
        kept = {path.stem: read_recording(path.read_text(), before) for path in _RECORDED.glob("*.txt")}
    machine = Machine(os.environ)
    found = {name: told for name, told in kept.items() if name in SCENARIOS}
    for name in chosen:
        print(name, file=sys.stderr)  # noqa: T201 - it takes minutes
        found[name] = machine.play(name)
    usual = usual_of(found.values())
    usual_file.write_text(write_usual(usual))
    for name, told in found.items():
        if name not in chosen and usual == before:
            continue
        (_RECORDED / f"{name}.txt").write_text(write(told, usual))


if __name__ == "__main__":
    main()
