"""What ``scontrol show job -d`` and ``sinfo`` say of GPUs near cores: as Slurm 22.05.8 did of such nodes and jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rota.commands.sbatch import parse_request
from rota.config import read_slurm_conf
from rota.inspect.view import EngineView
from rota.listings import run
from rota.testing import Harness

if TYPE_CHECKING:
    from pathlib import Path

CONF = """GresTypes=gpu
DefMemPerCPU=100
NodeName=n1 Sockets=2 CoresPerSocket=4 RealMemory=8000 Gres=gpu:a100:2,gpu:v100:2
NodeName=n2 Sockets=2 CoresPerSocket=4 RealMemory=8000 Gres=gpu:4
PartitionName=main Nodes=ALL Default=YES
"""
GRES = """NodeName=n1 Name=gpu Type=v100 File=/dev/tty[0-1] Cores=4-7
NodeName=n1 Name=gpu Type=a100 File=/dev/tty[10-11] Cores=0-3
NodeName=n2 Name=gpu File=/dev/tty[0-1] Cores=0-3
NodeName=n2 Name=gpu File=/dev/tty[2-3] Cores=4-7
"""
#: Each job's options, and what was said of it.
JOBS = {
    # Of a request for any type all types are listed.
    "-n1 --gres=gpu:1 -w n1": [
        "JOB_GRES=gpu:a100:1,gpu:v100:0",
        "Nodes=n1 CPU_IDs=0 Mem=100 GRES=gpu:a100:1(IDX:0),gpu:v100:0(IDX:)",
    ],
    "-n1 --gres=gpu:a100:1 -w n1": [
        "JOB_GRES=gpu:a100:1",
        "Nodes=n1 CPU_IDs=1 Mem=100 GRES=gpu:a100:1(IDX:1)",
    ],
    "-n2 --gpus=3 --gres-flags=enforce-binding -w n2": [
        "JOB_GRES=gpu:3",
        "Nodes=n2 CPU_IDs=0,4 Mem=200 GRES=gpu:3(IDX:0-2)",
        "GresEnforceBind=Yes",
    ],
}


def test_gpus_are_shown_by_type_with_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "gres.conf").write_text(GRES)
    config = replace(read_slurm_conf(tmp_path / "slurm.conf").config, cores_apart=True)
    with Harness(config, sched="sched/backfill", priority="priority/basic") as rota:
        view = EngineView(rota.engine.view)
        for number, (options, lines) in enumerate(JOBS.items(), start=1):
            rota.submit(parse_request(options.split()))
            rota.wait(1)
            shown = run(["scontrol", "-d", "show", "job", str(number)], {}, view).out
            assert [line.strip() for line in shown.splitlines() if "GRES" in line or "GresE" in line] == lines
        assert run(["sinfo", "-hN", "-o", "%N %G"], {}, view).out.splitlines() == [
            "n1 gpu:a100:2(S:0),gpu:v100:2(S:1)",
            "n2 gpu:4(S:0-1)",
        ]
