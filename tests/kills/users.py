"""Users who submit jobs, run steps, wait, and change their minds."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, NamedTuple

from .ledger import SCRIPT, Ledger, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from rota.testing.live import LiveCluster

#: Seconds after which a client has to have ended: by far more than anything should take.
PATIENCE = 120.0
#: What is said by clients whose request may have been heard, or may not.
LOST = ("connection to the controller was lost", "Unable to contact slurm controller")
#: What is said while the disk is full.
FULL = "cannot write its state"
#: Partitions: in which more is asked for than there is, the same for those who are killed as they wait, and one whose
#: node fails at times. What is left behind is ended by a controller that has lived for some seconds, which few do here.
NARROW, LEFT, FRAIL = "narrow", "left", "frail"
#: Code of a script that ends itself by a signal.
_SIGNALLED = -int(signal.SIGUSR1)


@dataclass
class Order:
    """What was asked about a job."""

    verb: str
    sent: float
    returned: float
    status: int
    said: str


@dataclass
class Command:
    """What a user has asked for, and what its client said."""

    tag: str
    kind: str
    words: list[str]
    script: str = ""
    #: What the scripts, by task, or the command end with.
    codes: tuple[int, ...] = (0,)
    steps: tuple[Step, ...] = ()
    is_array: bool = False
    #: Whether it is submitted; else its client runs it.
    is_batch: bool = True
    #: Whether it cannot end within its time limit.
    is_too_long: bool = False
    sent: float = 0.0
    returned: float = 0.0
    #: The exit status of the client; ``None``: it has not ended.
    status: int | None = None
    out: str = ""
    err: str = ""
    #: Whether the client was killed, as was meant.
    was_killed: bool = False
    orders: list[Order] = field(default_factory=list)

    @property
    def waits(self) -> bool:
        """Whether its status says how the job ended."""
        return not self.is_batch or "--wait" in self.words

    @property
    def job_id(self) -> int:
        """The job that was acknowledged; 0: none."""
        return int(self.out) if self.is_batch and self.out.strip().isdigit() else 0

    @property
    def is_gone(self) -> bool:
        """Whether its client was killed, be it because it did not end."""
        return self.was_killed or self.status is None

    @property
    def is_unheard(self) -> bool:
        """Whether its client says that it does not know whether it was heard."""
        return bool(self.status) and not self.job_id and any(text in self.err for text in LOST)

    @property
    def is_refused(self) -> bool:
        """Whether its client says that it is refused for now."""
        return bool(self.status) and not self.job_id and FULL in self.err

    def asked(self, verb: str) -> list[Order]:
        """Give the orders of a kind."""
        return [order for order in self.orders if order.verb == verb]


class World(NamedTuple):
    """What all users share."""

    cluster: LiveCluster
    ledger: Ledger
    #: What they ask for, and how often.
    kinds: Mapping[str, int]
    #: Writes a line about it.
    log: Callable[[str], None]
    #: Is called when a command has been sent.
    sent: Callable[[], None]


class User(threading.Thread):
    """A user, who gives one command after the other until it is enough.

    Args:
        number: Which one.
        world: Where.
        random: Draws what is asked for.
    """

    def __init__(self, number: int, world: World, random: Random) -> None:
        super().__init__(daemon=True, name=f"user {number}")
        self._number = number
        self._cluster, self._ledger, self._kinds, self._log, self._sent = world
        self._random = random
        self.commands: list[Command] = []
        self.is_enough = False
        #: What has gone wrong with this program itself.
        self.trouble: list[BaseException] = []

    def run(self) -> None:
        """Give commands."""
        try:
            while not self.is_enough:
                (kind,) = self._random.choices([*self._kinds], [*self._kinds.values()])
                getattr(self, f"_{kind}")()
                time.sleep(self._random.random() * 0.3)
        except BaseException as error:  # noqa: BLE001 - it is told at the end
            self.trouble.append(error)

    # ---- jobs -------------------------------------------------------------------------------------------------

    def _batch(self) -> None:
        self._submit("batch")

    def _array(self) -> None:
        self._submit("array", tasks=self._random.randrange(2, 5))

    def _steps(self) -> None:
        self._submit("steps", steps=self._random.randrange(1, 4))

    def _wait(self) -> None:
        self._submit("wait", "--wait", tasks=self._random.choice([0, 0, 3]), seconds=1.0)

    def _requeue(self) -> None:
        command = self._submit("requeue", seconds=1.5)
        for _ in range(self._random.randrange(1, 3)):
            if self._begun(command):
                time.sleep(self._random.random() * 0.5)
                self._order(command, "requeue", "scontrol", "requeue", str(command.job_id))

    def _suspend(self) -> None:
        command = self._submit("suspend", seconds=1.0, steps=self._random.randrange(2))
        if self._begun(command):
            self._order(command, "suspend", "scontrol", "suspend", str(command.job_id))
            time.sleep(self._random.random() * 2)
            self._until_heard(command, "resume", "scontrol", "resume", str(command.job_id))

    def _cancel(self) -> None:
        command = self._submit("cancel", tasks=self._random.choice([0, 0, 3]), seconds=1.0)
        if command.job_id:
            time.sleep(self._random.choice([0, 0.5]) * self._random.random())
            self._order(command, "cancel", "scancel", str(command.job_id))

    def _hold(self) -> None:
        command = self._submit("hold", "-H")
        if command.job_id:
            self._until_heard(command, "release", "scontrol", "release", str(command.job_id))

    def _timeout(self) -> None:
        self._submit("timeout", "-t", "0:01", is_too_long=True)

    def _frail(self) -> None:
        command = self._submit("frail", "-p", FRAIL, seconds=1.0)
        if self._begun(command) and self._random.random() < 0.4:
            self._order(command, "down", "scontrol", "update", "nodename=n4", "state=down", "reason=kills")
            self._until_heard(command, "up", "scontrol", "update", "nodename=n4", "state=resume")

    def _look(self) -> None:
        """Ask after a job of one's own that is on record for certain."""
        known = [command for command in self.commands if command.job_id and not command.asked("look")]
        if known:
            command = self._random.choice(known)
            self._order(command, "look", "sacct", "-nPXj", str(command.job_id), "-o", "State")

    # ---- clients that run what they ask for -------------------------------------------------------------------

    def _srun(self) -> None:
        self._run_step("srun")

    def _srun_waits(self) -> None:
        self._run_step("srun_waits", "-p", NARROW)

    def _salloc(self) -> None:
        self._allocate("salloc")

    def _salloc_waits(self) -> None:
        self._allocate("salloc_waits", "-p", NARROW)

    def _gone(self) -> None:
        """Have a client that is killed: what it has asked for is to end."""
        where = self._random.choice([(), ("-p", LEFT)])
        (self._run_step if self._random.random() < 0.5 else self._allocate)("gone", *where, is_killed=True)

    # ---- how --------------------------------------------------------------------------------------------------

    def _tag(self, kind: str) -> str:
        return f"{kind}-{self._number}-{len(self.commands)}"

    def _drawn_steps(self, tag: str, count: int) -> tuple[Step, ...]:
        random = self._random
        return tuple(
            Step(f"{tag}.{number}", random.random() * 0.4, random.choice([1, 1, 2]), random.choice([0, 0, 3]))
            for number in range(count)
        )

    def _submit(
        self,
        kind: str,
        *options: str,
        tasks: int = 0,
        steps: int = 0,
        seconds: float = 0.6,
        is_too_long: bool = False,
    ) -> Command:
        tag, random = self._tag(kind), self._random
        codes = tuple(random.choice([0, 0, 1, 2, _SIGNALLED]) for _ in range(tasks or 1))
        drawn = self._drawn_steps(tag, steps)
        length = 300.0 if is_too_long else random.random() * seconds
        array = ["-a", f"0-{tasks - 1}"] if tasks else []
        command = Command(
            tag,
            kind,
            ["sbatch", "--parsable", "-J", tag, "-o", "/dev/null", "-n", "2" if steps else "1", *array, *options],
            script=self._ledger.script(tag, length, codes, drawn),
            codes=codes,
            steps=drawn,
            is_array=bool(tasks),
            is_too_long=is_too_long,
        )
        self._give(command)
        return command

    def _run_step(self, kind: str, *options: str, is_killed: bool = False) -> None:
        tag = self._tag(kind)
        step = self._drawn_steps(tag, 1)[0]._replace(name=tag)
        words = ["srun", "-J", step.name, "-n", str(step.tasks), *options, *self._ledger.step(tag, step)]
        self._give(Command(tag, kind, words, codes=(step.code,), steps=(step,), is_batch=False), is_killed=is_killed)

    def _allocate(self, kind: str, *options: str, is_killed: bool = False) -> None:
        tag = self._tag(kind)
        steps = self._drawn_steps(tag, self._random.randrange(1, 3))
        code = self._random.choice([0, 0, 4])
        script = self._ledger.script(tag, self._random.random() * 0.3, (code,), steps)
        words = ["salloc", "-J", tag, "-n", "2", *options, "bash", "-c", script]
        self._give(Command(tag, kind, words, codes=(code,), steps=steps, is_batch=False), is_killed=is_killed)

    def _give(self, command: Command, *, is_killed: bool = False) -> None:
        """Give a command, and wait until its client has ended."""
        self.commands.append(command)
        with TemporaryFile() as stdin, TemporaryFile() as out, TemporaryFile() as err:
            stdin.write(command.script.encode())
            stdin.seek(0)
            command.sent = time.time()
            client = subprocess.Popen(
                command.words,
                stdin=stdin,
                stdout=out,
                stderr=err,
                cwd=self._cluster.directory,
                env=self._cluster.environment,
            )
            self._log(f"{command.tag}: {client.pid}: {' '.join(command.words[:8])}")
            self._sent()
            try:
                if is_killed:
                    time.sleep(self._random.random())
                    command.was_killed = client.poll() is None
                    client.kill()
                command.status = client.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                client.kill()
                client.wait()
            command.returned = time.time()
            for file, name in ((out, "out"), (err, "err")):
                file.seek(0)
                setattr(command, name, file.read().decode(errors="replace"))
        self._log(f"{command.tag}: status {command.status}: {command.out.strip()} {command.err.strip()}")

    def _order(self, command: Command, verb: str, *words: str) -> Order:
        began = time.time()
        self._sent()
        done = self._cluster.run(*words, check=False, patience=PATIENCE)
        order = Order(verb, began, time.time(), done.returncode, (done.stdout + done.stderr).strip())
        command.orders.append(order)
        self._log(f"{command.tag}: {' '.join(words)}: {order.status} {order.said}")
        return order

    def _until_heard(self, command: Command, verb: str, *words: str) -> None:
        """Repeat an order until the controller has certainly heard it."""
        order = self._order(command, verb, *words)
        while any(text in order.said for text in (*LOST, FULL)):
            time.sleep(0.05)
            order = self._order(command, verb, *words)

    def _begun(self, command: Command) -> bool:
        """Wait until a script runs; ``False``: it does not."""
        restarts, until = len(command.asked("requeue")), time.monotonic() + PATIENCE
        while command.job_id and time.monotonic() < until:
            runs = [line for line in self._ledger.lines(command.tag) if line.who == SCRIPT and line.what == "begin"]
            if len(runs) > restarts:
                return True
            if restarts and command.orders[-1].status:
                return False  # it may not have been queued again
            time.sleep(0.01)
        return False
