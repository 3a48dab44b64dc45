"""What the commands say while there is no controller: as Slurm's, as there are programs that then try again later.

JupyterHub's batchspawner, for one, takes a job for lost unless the message begins with ``slurm_load_jobs error: Unable
to contact slurm controller``. What stands before that is as Slurm 22.05.8 printed it, and so are the exit codes. There
``sacct``, ``sacctmgr`` and ``sreport`` ask a daemon of their own, and ``sstat`` says that there are no steps.

Before they say so they wait for a controller that is being started again, as Slurm's wait for any.
"""

import _socket
import posix
import time
from collections.abc import Callable

#: For how many seconds a command waits: since the controller went down or began to start, which the times of files in
#: the state directory tell; or since the command itself began, if the controller was killed and has left its socket.
PATIENCE = 10
_PAUSE = 0.05

#: What stands before the message, by command.
_BEFORE = {
    "salloc": "salloc: error: Job submit/allocate failed: ",
    "sbatch": "sbatch: error: Batch job submission failed: ",
    "scancel": "slurm_load_jobs error: ",
    "sdiag": "slurm_get_statistics: ",
    "sinfo": "slurm_load_partitions: ",
    "sprio": "Couldn't get priority factors from controller: ",
    "squeue": "slurm_load_jobs error: ",
    "srun": "srun: error: Unable to allocate resources: ",
    "sshare": "Couldn't get shares from controller: ",
}
#: What stands before it, by what ``scontrol`` is to show or to do.
_OF_SCONTROL = {
    "config": "slurm_load_ctl_conf error: ",
    "job": "slurm_load_jobs error: ",
    "node": "slurm_load_node error: ",
    "partition": "slurm_load_partitions error: ",
    "reconfigure": "slurm_reconfigure error: ",
    "reservation": "slurm_load_reservations error: ",
    "step": "slurm_get_job_steps error: ",
}
#: Exit codes other than 1.
_CODES = {"sdiag": 255, "sprio": 255, "sshare": 255}
_STARS = "*" * 41


def connect_again(state: bytes, connect: Callable[[], _socket.socket]) -> _socket.socket:
    """Wait for the controller of a state directory to come back, and connect to it.

    Args:
        state: The directory.
        connect: Tries it once.

    Raises:
        OSError: it is away, and there is no sign that it comes back.
    """
    began = time.time()
    while True:
        try:
            return connect()
        except (ConnectionRefusedError, FileNotFoundError) as error:
            changed = [began] if isinstance(error, ConnectionRefusedError) else []
            changed += [posix.stat(path).st_mtime for path in (state, state + b"/lock")]
            if not 0 <= time.time() - max(changed) < PATIENCE:
                raise
            time.sleep(_PAUSE)


def tell(name: str, words: list[str]) -> int:
    """Say that there is no controller; give the exit code of a command."""
    if name == "scontrol" and "ping" in words:
        text = f"Slurmctld(primary) at {posix.uname().nodename.partition('.')[0]} is DOWN\n"
        posix.write(1, f"{text}{_STARS}\n** RESTORE SLURMCTLD DAEMON TO SERVICE **\n{_STARS}\n".encode())
        return 1
    before = _BEFORE.get(name, f"{name}: error: ")
    if name == "scontrol":
        kinds = (word.removesuffix("s") for word in words)
        before = next((_OF_SCONTROL[kind] for kind in kinds if kind in _OF_SCONTROL), before)
    elif name == "squeue" and {"-s", "--steps"}.intersection(words):
        before = _OF_SCONTROL["step"]
    text = f"{before}Unable to contact slurm controller (connect failure): `rota up` starts one\n"
    posix.write(2, text.encode())
    return _CODES.get(name, 1)
