"""What the commands do and say while there is no controller: as Slurm's, as some programs then try again later.

JupyterHub's batchspawner, for one, takes a job for lost unless the message begins with ``slurm_load_jobs error: Unable
to contact slurm controller``. What stands before that is as Slurm 22.05.8 printed it, and so are the exit codes. There
``sacct``, ``sacctmgr`` and ``sreport`` ask a daemon of their own, and ``sstat`` says that there are no steps.

Before they say so they wait for a controller that is being started again, as Slurm's wait for any. One that waits for
resources or the end of a job, or may have been given them, waits for ever, and so does a step within a job: there is
nobody else who would use what they have.
"""

import _socket
import posix
import time
from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Call(Protocol):
        """A command that is given: see `rota.client.thin`."""

        name: str
        words: list[str]
        known_as: str
        was_sent: bool
        was_answered: bool
        makes: bool
        said: list[tuple[bytes, bytes]]
        known: list[tuple[bytes, bytes]]
        losses: int
        until: float
        is_told: bool


#: For how many seconds a command waits: since the controller went down or began to start, which the times of files in
#: the state directory tell; or since the command itself began, if the controller was killed and has left its socket.
PATIENCE = 10
#: Seconds between attempts, at first and later.
_PAUSE, _LONGEST = 0.05, 1.0
#: Attempts after which it does not become longer.
_MANY = 20
#: Commands that change nothing, and can be given again as long as nothing of the answer was printed.
_ASK = frozenset(("sacct", "sdiag", "sinfo", "sprio", "squeue", "sreport", "sshare", "sstat"))
_CONNECT = "Unable to contact slurm controller (connect failure)"
#: What those say that wait for ever.
_RETRYING = {
    "salloc": "salloc: Slurm controller not responding, sleeping and retrying.\n",
    "sbatch": f"sbatch: error: Currently unable to load job state information, retrying: {_CONNECT}\n",
    "srun": "srun: Slurm controller not responding, sleeping and retrying.\n",
}

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


def connect_again(state: bytes, connect: Callable[[], _socket.socket], call: "Call") -> _socket.socket:
    """Wait for the controller of a state directory to come back, and connect to it.

    Args:
        state: The directory.
        connect: Tries it once.
        call: The command for which it is. One that has a job waits for ever.

    Raises:
        OSError: it is away, and there is no sign that it comes back.
    """
    began, pause = time.time(), _PAUSE
    if call.name == "scontrol" and "ping" in call.words:
        raise OSError
    while True:
        try:
            return connect()
        except OSError as error:
            waits = time.time() - began
            if _has_a_job(call):
                if waits > PATIENCE:
                    _tell_that_it_waits(call)
                pause = min(pause * 1.2, _LONGEST)
            elif isinstance(error, PermissionError) and waits < 1:
                pass  # a new socket is nobody else's until it is made everybody's
            elif not isinstance(error, (ConnectionRefusedError, FileNotFoundError)):
                raise
            else:
                changed = [began] if isinstance(error, ConnectionRefusedError) or call.known_as else []
                changed += [posix.stat(path).st_mtime for path in (state, state + b"/lock")]
                if not 0 <= time.time() - max(changed) < PATIENCE:
                    raise
        time.sleep(pause)


def may_be_given_again(call: "Call") -> bool:
    """Whether a command whose controller was lost may be given again: it may then be the same as before.

    It can be for as long as another controller is waited for, beginning with the first loss.
    """
    if not (call.makes or _only_asks(call)):
        return False
    now = time.monotonic()
    call.until = call.until or now + PATIENCE
    if now > call.until:
        if not _has_a_job(call):
            return False
        _tell_that_it_waits(call)
    call.known_as = call.known_as or "again"
    call.known = list(call.said)
    time.sleep(min(_PAUSE * 1.2 ** min(call.losses, _MANY), _LONGEST))
    call.losses += 1
    return True


def _only_asks(call: "Call") -> bool:
    """Whether a command changes nothing, and has got no part of an answer: it is as if it had not been given."""
    return call.name in _ASK and not call.was_answered


def _tell_that_it_waits(call: "Call") -> None:
    if not call.is_told:
        call.is_told = True
        posix.write(2, _RETRYING[call.name].encode())


def _has_a_job(call: "Call") -> bool:
    """Whether a command has a job, or may have: it may have been made, and what it said was lost."""
    if call.name == "srun" and b"ROTA_RUN" in posix.environ:
        return True  # it is part of one, which would fail
    return call.makes and (call.known_as.isdigit() or (call.was_sent and call.name != "sbatch"))


def tell(call: "Call") -> int:
    """Say that there is no controller; give the exit code of a command."""
    name, words = call.name, call.words
    if call.was_sent and not _only_asks(call):
        maybe = ": it may have submitted the job" if call.makes else ""
        posix.write(2, f"{name}: error: the connection to the controller was lost{maybe}\n".encode())
        return 1
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
    posix.write(2, f"{before}{_CONNECT}: `rota up` starts one\n".encode())
    return _CODES.get(name, 1)
