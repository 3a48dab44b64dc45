"""The process of `rota.testing.forks` that forks. It imports next to nothing itself: the less there is, the sooner."""

import gc
import json
import os
import posix
import select
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

#: Bytes of a number that is told.
WORD = 4


def serve(connection: socket.socket) -> None:
    """Fork for each message, and tell of each fork: its process id, and how it ended; until the client is gone."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # keys are the forks' business
    gc.freeze()
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    #: By the descriptor of its process: its process id, and where it is told of.
    running: dict[int, tuple[int, int]] = {}
    while True:
        for number, _ in poll.poll():
            if number in running:
                pid, sender = running.pop(number)
                poll.unregister(number)
                _, status = os.waitpid(pid, 0)
                _tell(sender, status)
                os.close(number)
                os.close(sender)
                continue
            message, files, _, _ = socket.recv_fds(connection, 1, 5)
            if not message:
                return
            sender, *needed = files
            if (pid := os.fork()) == 0:
                connection.close()
                for process, (_, other) in running.items():
                    os.close(process)
                    os.close(other)
                os.close(sender)
                signal.signal(signal.SIGINT, before)
                _run(*needed)
            for file in needed:
                os.close(file)
            process = os.pidfd_open(pid)
            running[process] = pid, sender
            poll.register(process, select.POLLIN)
            _tell(sender, pid)


def _tell(sender: int, number: int) -> None:
    with suppress(BrokenPipeError):  # who asked has given it up
        os.write(sender, number.to_bytes(WORD))


def _run(request: int, *standard: int) -> NoReturn:
    """Be ``python -m rota``, or ``python`` of a file."""
    status = 1
    try:
        with os.fdopen(request, "rb") as file:
            file.seek(0)
            words, directory, umask, environment = json.load(file)
        for place, number in enumerate(standard):
            os.dup2(number, place)
            os.close(number)
        os.chdir(directory)
        os.umask(umask)
        os.environ.clear()
        os.environ.update(environment)
        posix.environ.clear()
        posix.environ.update({os.fsencode(name): os.fsencode(value) for name, value in environment.items()})
        sys.argv = words
        if words[0] == "rota":
            import runpy

            runpy.run_module("rota", run_name="__main__", alter_sys=True)
        else:
            with open(words[0], "rb") as program:  # noqa: PTH123 - pathlib is not there yet
                exec(compile(program.read(), words[0], "exec"), {"__name__": "__main__"})  # noqa: S102 - it is asked for
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0
    except BaseException:  # noqa: BLE001 - as an interpreter does
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `rota.cli.main` has it
    for module in sys.argv[2:]:
        import_module(module)
    with socket.socket(fileno=int(sys.argv[1])) as found:
        serve(found)
