"""PMI: how the tasks of an MPI program learn of each other. ``srun`` answers them while it waits for them to end.

A task finds its connection by ``PMI_FD``, and speaks version 1 (MPICH) or 2 (programs linked with libpmi2): see
`rota.client.pmi_wire`. What a task puts is seen by all others at once, so that a fence is no more than waiting for all
of them. When a task breaks the rules, the step ends.
"""

import _socket
import os

from rota.client.pmi_wire import Connection, LostError
from rota.client.processes import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Values = dict[str, str]

#: Answer of Slurm 22.05 to what it does not know: nothing has a number among several programs.
_NO_PROGRAM = "-1"
_REFUSED = {"rc": "-1", "errmsg": "not supported by rota"}


class Server:
    """Answers the tasks of a step.

    Args:
        spec: What is started: see `rota.controller.steps.spec`.
        abort: Is called when a task wants all of them to end, or breaks the rules.
    """

    def __init__(self, spec: "dict[str, Any]", abort: "Callable[[], None]") -> None:
        nodes = [task["node"] for task in spec["tasks"]]
        self._name, self._size = f"{spec['job']}.{spec['step']}", str(len(nodes))
        self._abort = abort
        pairs = [_socket.socketpair() for _ in nodes]
        self._ends = [theirs for _, theirs in pairs]
        self._tasks = {mine.fileno(): Connection(mine, number, nodes[number]) for number, (mine, _) in enumerate(pairs)}
        #: What tasks have put: for all, for those of a node, and names that they have published.
        self._pairs = {"PMI_process_mapping": mapping(nodes)}
        self._of_nodes: dict[tuple[int, str], str] = {}
        self._ports: Values = {}
        #: Requests that wait: for all tasks, and for what is put on a node.
        self._in_fence: list[tuple[Connection, Values]] = []
        self._for_puts: list[tuple[Connection, Values]] = []

    # ---- for the step -----------------------------------------------------------------------------------------

    def enter(self, number: int) -> "Values":
        """Keep the connection of this process, which is about to become a task; give the variables that name it."""
        end = self._ends[number].fileno()
        os.set_inheritable(end, True)
        return {"PMI_FD": str(end), "PMI_JOBID": self._name, "PMI_RANK": str(number), "PMI_SIZE": self._size}

    def started(self) -> None:
        """Close what is the tasks' own: all have been started."""
        for end in self._ends:
            end.close()

    @property
    def readers(self) -> list[int]:
        """What is to be read."""
        return list(self._tasks)

    def serve(self, readable: list[int]) -> None:
        """Answer tasks that have said something."""
        for end in readable:
            if end in self._tasks:
                self._hear(end, self._tasks[end])

    def close(self) -> None:
        """End: there is nothing to do."""

    # ---- requests ---------------------------------------------------------------------------------------------

    def _hear(self, end: int, task: Connection) -> None:
        try:
            for request in task.requests():
                self._handle(task, request)
        except LostError as error:
            del self._tasks[end]
            task.close()
            if str(error):
                say(f"srun: error: mpi/pmi2: task {task.number}: {error}\n")
                self._abort()

    def _handle(self, task: Connection, request: "Values") -> None:
        """Answer a request, or keep it until it can be answered."""
        command = request["cmd"]
        if command in {"barrier_in", "kvs-fence"}:
            self._fence(task, request)
        elif command == "info-getnodeattr":
            self._for_puts.append((task, request))
            self._answer_for_puts()
        elif command == "abort":
            self._abort()
        elif command == "spawn":
            if request.get("spawnssofar") == request.get("totspawns"):  # the last program of several
                say("srun: error: mpi/pmi2: rota does not start more tasks in a step (MPI_Comm_spawn)\n")
                task.answer(request, _REFUSED)
        elif (values := self._take(task, request) or self._question(task, request)) is not None:
            task.answer(request, values)
        elif task.version == 1:
            raise LostError(f"{command!r} is not supported")
        else:
            task.answer(request, _REFUSED)

    def _take(self, task: Connection, request: "Values") -> "Values | None":
        """Take what a task tells; ``None``: it tells nothing."""
        command, key, value = request["cmd"], request.get("key", ""), request.get("value", "")
        name = request.get("service", "") or request.get("name", "")
        if command in {"put", "kvs-put"}:
            self._pairs[key] = value
        elif command == "info-putnodeattr":
            self._of_nodes[task.node, key] = value
            self._answer_for_puts()
        elif command in {"publish_name", "name-publish"}:
            self._ports[name] = request.get("port", "")
        elif command in {"unpublish_name", "name-unpublish"}:
            self._ports.pop(name, None)
        elif command != "finalize":
            return None
        return {"rc": "0", "info": "ok"}

    def _question(self, task: Connection, request: "Values") -> "Values | None":
        """Answer a question; ``None``: there is no such one."""
        command, key = request["cmd"], request.get("key", "")
        if command == "init":
            return _agree(task, request.get("pmi_version", ""))
        if command == "get":
            return {"rc": "0", "value": self._pairs[key]} if key in self._pairs else {"rc": "1"}
        if command == "kvs-get":
            return _found(self._pairs.get(key))
        if command == "info-getjobattr":
            known = {"PMI_process_mapping": self._pairs["PMI_process_mapping"], "universeSize": self._size}
            return _found(known.get(key))
        if command in {"lookup_name", "name-lookup"}:
            port = self._ports.get(request.get("service", "") or request.get("name", ""))
            if port is None:
                return {"rc": "1", "info": "fail"}
            return {"rc": "0", "info": "ok", "port" if task.version == 1 else "value": port}
        place = {"rank": str(task.number), "size": self._size, "appnum": _NO_PROGRAM}
        fixed = {
            "get_maxes": {"kvsname_max": "256", "keylen_max": "64", "vallen_max": "1024"},
            "get_appnum": {"appnum": _NO_PROGRAM},
            "get_my_kvsname": {"kvsname": self._name},
            "get_universe_size": {"size": self._size},
            "job-getid": {"jobid": self._name},
            "fullinit": {
                "pmi-version": "2",
                "pmi-subversion": "0",
                **place,
                "debugged": "FALSE",
                "pmiverbose": "FALSE",
            },
        }
        return {"rc": "0", **fixed[command]} if command in fixed else None

    def _fence(self, task: Connection, request: "Values") -> None:
        self._in_fence.append((task, request))
        if str(len(self._in_fence)) == self._size:
            all_tasks, self._in_fence = self._in_fence, []
            for one, its_request in all_tasks:
                one.answer(its_request, {"rc": "0"})

    def _answer_for_puts(self) -> None:
        """Answer those who ask for what has been put on their nodes, or do not want to wait for it."""
        waiting, self._for_puts = self._for_puts, []
        for task, request in waiting:
            value = self._of_nodes.get((task.node, request.get("key", "")))
            if value is None and request.get("wait") == "TRUE":
                self._for_puts.append((task, request))
            else:
                task.answer(request, _found(value))


def _agree(task: Connection, version: str) -> "Values":
    """Speak a version from now on."""
    if version not in {"1", "2"}:
        raise LostError(f"version {version!r} of PMI is not supported")
    task.version = int(version)
    return {"rc": "0", "pmi_version": version, "pmi_subversion": "1" if version == "1" else "0"}


def _found(value: str | None) -> "Values":
    return {"rc": "0", "found": "FALSE"} if value is None else {"rc": "0", "found": "TRUE", "value": value}


def mapping(nodes: list[int]) -> str:
    """Say which tasks are on which nodes, as MPI libraries want it.

    Args:
        nodes: The node of each task, counted from 0.

    Returns:
        ``(vector,(0,2,4),…)``: from node 0 on two nodes with four tasks each, and so on.
    """
    runs: list[list[int]] = []  # node, and tasks one after the other on it
    for node in nodes:
        if runs and runs[-1][0] == node:
            runs[-1][1] += 1
        else:
            runs.append([node, 1])
    blocks: list[list[int]] = []  # first node, number of nodes, tasks on each
    for node, tasks in runs:
        if blocks and blocks[-1][2] == tasks and blocks[-1][0] + blocks[-1][1] == node:
            blocks[-1][1] += 1
        else:
            blocks.append([node, 1, tasks])
    return "(vector," + ",".join(f"({first},{count},{tasks})" for first, count, tasks in blocks) + ")"
