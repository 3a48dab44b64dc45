"""Tests for ReFrame. As a program it runs them: it takes ReFrame's command line."""

import subprocess
import sys
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn


class _Test(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "hostname"
    time_limit = "3m"

    @sanity_function
    def found(self):
        return sn.assert_found(r"\S", self.stdout)


@rfm.simple_test
class Tasks(_Test):
    """Four tasks on two nodes."""

    executable = "sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME $SLURM_CPUS_PER_TASK'"
    num_tasks = 4
    num_tasks_per_node = 2
    num_cpus_per_task = 2

    @sanity_function
    def found(self):
        ranks = sn.extractall(r"^(\d) n\d 2$", self.stdout, 1, int)
        return sn.assert_eq(sn.sorted(ranks), [0, 1, 2, 3])


@rfm.simple_test
class Fails(_Test):
    """A command that fails, which the exit code of its job tells."""

    valid_systems = ["here:sacct"]
    executable = "sh -c 'echo it; exit 3'"

    @sanity_function
    def found(self):
        return sn.assert_eq(self.job.exitcode, 0)


@rfm.simple_test
class Array(_Test):
    """An array of three tasks."""

    valid_systems = ["here:sacct"]
    executable = "sh -c 'echo task $SLURM_ARRAY_TASK_ID'"

    @run_before("run")
    def options(self):
        self.job.options = ["--array=1-3"]

    @sanity_function
    def found(self):
        return sn.assert_eq(sn.sorted(sn.extractall(r"task (\d)", self.stdout, 1, int)), [1, 2, 3])


@rfm.simple_test
class Pinned(_Test):
    """A node that is named, whole."""

    valid_systems = ["here:sacct"]
    exclusive_access = True
    use_multithreading = False

    @run_before("run")
    def options(self):
        self.job.options = ["-w n3"]

    @sanity_function
    def found(self):
        return sn.assert_eq(self.job.nodelist, ["n3"])


@rfm.simple_test
class Blocked(_Test):
    """A node that is drained: ReFrame hears the reason, and does not wait for it."""

    valid_systems = ["here:sacct", "here:squeue"]

    @run_before("run")
    def options(self):
        self.job.options = ["-w n4"]


@rfm.simple_test
class Flexible(_Test):
    """A task for each node that there is."""

    valid_systems = ["here:sacct", "here:big"]
    num_tasks = 0
    num_tasks_per_node = 1


if __name__ == "__main__":
    here = Path(__file__).parent
    suite = ["-C", str(here / "reframe_settings.py"), "-c", __file__]
    subprocess.run(["reframe", *suite, *sys.argv[1:]], check=False)  # one of the tests fails
