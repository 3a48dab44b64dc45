"""Sums that AiiDA lets a computer with Slurm calculate; prints how each calculation ended."""

from pathlib import Path

from aiida import engine, load_profile, orm
from aiida.storage.sqlite_temp import SqliteTempBackend

load_profile(SqliteTempBackend.create_profile("sums"), allow_switch=True)
computer = orm.Computer(
    label="here",
    hostname="localhost",
    transport_type="core.local",
    scheduler_type="core.slurm",
    workdir=str(Path("work").absolute()),
).store()
computer.set_minimum_job_poll_interval(0.2)
# A login shell would not have the commands of the cluster on its path.
computer.configure(use_login_shell=False, safe_interval=0.1)
code = orm.InstalledCode(
    label="sum", computer=computer, filepath_executable="/bin/bash", default_calc_job_plugin="core.arithmetic.add"
).store()


def add(**options: object) -> orm.CalcJobNode:
    """Let 3 and 4 be added."""
    builder = code.get_builder()
    builder.x, builder.y = orm.Int(3), orm.Int(4)
    resources = {"num_machines": 1, "num_mpiprocs_per_machine": 1}
    builder.metadata.options.update({"resources": resources, "max_wallclock_seconds": 120, "withmpi": False, **options})
    _, node = engine.run_get_node(builder)
    told = node.exit_message or node.outputs.sum.value
    header, job = node.get_detailed_job_info()["stdout"].splitlines()[:2]
    print(node.exit_status, told, dict(zip(header.split("|"), job.split("|"), strict=True))["State"])
    return node


two = {"num_machines": 2, "num_mpiprocs_per_machine": 2, "num_cores_per_mpiproc": 1}
add(resources=two, queue_name="debug", qos="normal", priority="5", environment_variables={"WHO": "two words"})
add(prepend_text="scancel $SLURM_JOB_ID; sleep 600")
hungry = "python3 -c 'import time; much = bytearray(300 << 20); time.sleep(600)'"
add(max_memory_kb=50 * 1024, prepend_text=hungry)
