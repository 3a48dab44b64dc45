"""The files of a step's tasks: their output in whole lines, labelled if wanted, and input for one or all of them."""

import errno
import os

from rota.client.processes import ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: What is read at once, and kept for a task that does not read.
_CHUNK, _MOST = 1 << 16, 1 << 20


class Streams:
    """The files of a step.

    Args:
        spec: What to start. ``stdin``, ``stdout`` and ``stderr`` are ``all``, ``none``, the number of a task, a path,
            or a list with a path for each task.
    """

    def __init__(self, spec: "dict[str, Any]") -> None:
        self._count = len(spec["tasks"])
        self._pty = spec["pty"]
        self._label = spec["label"]
        self._by_line = not spec["unbuffered"]
        self._width = len(str(self._count - 1))
        self._wanted = {1: spec["stdout"], 2: spec["stderr"]}
        #: Whether errors go where other output of the same task goes.
        self._merged = spec["merged"]
        self._input = spec["stdin"]
        self._flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if spec["append"] else os.O_TRUNC)
        #: Open files of output by path; several tasks can share one.
        self._files: dict[str, int] = {}
        #: Outputs that are read: file descriptor to task, where to, and what is no whole line yet.
        self._outputs: dict[int, _Output] = {}
        #: Inputs that are written to: file descriptor to what has not been taken.
        self._inputs: dict[int, bytearray] = {}
        self._source = -1
        self._source_is_over = True
        self._terminal: _Terminal | None = None

    # ---- start ------------------------------------------------------------------------------------------------

    def open_files(self) -> str:
        """Open all files for output, and look at those for input; say what is wrong, nothing: all is well."""
        name = ""
        try:
            for name, wanted in (("stdin", self._input), ("stdout", self._wanted[1]), ("stderr", self._wanted[2])):
                paths = wanted if isinstance(wanted, list) else [wanted]
                for path in {one for one in paths if isinstance(one, str) and one.startswith("/")}:
                    if name != "stdin":
                        self._file(path)
                    elif not os.access(path, os.R_OK):  # a FIFO is not to be opened twice
                        os.stat(path)
                        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            return f"srun: error: Could not open {name} file: {error.strerror}\n"
        return ""

    def ends_of(self, task: int) -> "tuple[int, int, int]":
        """Make the files of a task; give its ends."""
        if self._pty and task == 0:
            self._terminal = _Terminal()
            self._outputs[self._terminal.master] = _Output(0, 1)
            self._inputs[self._terminal.master] = bytearray()
            end = self._terminal.slave
            return end, end, end
        return self._input_of(task), self._output_of(task, 1), self._output_of(task, 2)

    def started(self) -> None:
        """Begin: all tasks have been started."""
        if self._terminal is not None:
            self._terminal.started()
        if self._inputs:
            self._source, self._source_is_over = 0, False
            if isinstance(self._input, str) and self._input.startswith("/"):
                self._source = os.open(self._input, os.O_RDONLY | os.O_CLOEXEC)

    def _input_of(self, task: int) -> int:
        wanted = self._input
        if wanted == "none" or (isinstance(wanted, int) and wanted != task):
            return os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        if isinstance(wanted, list):
            return os.open(wanted[task], os.O_RDONLY | os.O_CLOEXEC)
        read_end, write_end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(write_end, False)
        self._inputs[write_end] = bytearray()
        return read_end

    def _output_of(self, task: int, stream: int) -> int:
        wanted = self._wanted[stream]
        if wanted == "none" or (isinstance(wanted, int) and wanted != task):
            return os.open("/dev/null", os.O_WRONLY | os.O_CLOEXEC)
        if isinstance(wanted, list) and not self._label:
            return os.dup(self._file(wanted[task]))
        if isinstance(wanted, int) and self._merged:
            target = 1
        elif wanted == "all" or isinstance(wanted, int):
            target = stream
        else:
            target = self._file(wanted[task] if isinstance(wanted, list) else wanted)
        read_end, write_end = os.pipe2(os.O_CLOEXEC)
        self._outputs[read_end] = _Output(task, target)
        return write_end

    def _file(self, path: str) -> int:
        if path not in self._files:
            self._files[path] = os.open(path, self._flags | os.O_CLOEXEC, 0o666)
        return self._files[path]

    # ---- while tasks run --------------------------------------------------------------------------------------

    @property
    def readers(self) -> list[int]:
        """What is to be read."""
        found = list(self._outputs)
        if not self._source_is_over and self._inputs and max(map(len, self._inputs.values())) < _MOST:
            found.append(self._source)
        return found

    @property
    def writers(self) -> list[int]:
        """What is to be written to."""
        return [end for end, data in self._inputs.items() if data]

    @property
    def are_over(self) -> bool:
        """Whether all output has been read."""
        return not self._outputs

    def serve(self, readable: list[int], writable: list[int]) -> None:
        """Read and write."""
        for end in readable:
            if end in self._outputs:
                self._read(end)
            elif end == self._source and not self._source_is_over:
                self._feed()
        for end in writable:
            if end in self._inputs:
                self._write(end)

    def _read(self, end: int) -> None:
        output = self._outputs[end]
        try:
            data = os.read(end, _CHUNK)
        except OSError:  # a terminal whose other side is closed
            data = b""
        if not data:
            self._put(output, last=True)
            del self._outputs[end]
            self._close_input(end)
            if self._terminal is None or end != self._terminal.master:
                os.close(end)
            return
        output.rest += data
        self._put(output)

    def _put(self, output: "_Output", *, last: bool = False) -> None:
        """Write what has been read: whole lines, or all."""
        whole = output.rest
        if self._terminal is None and self._by_line and not last and len(whole) < _MOST:
            whole = whole[: whole.rfind(b"\n") + 1]
        if not whole:
            return
        output.rest = output.rest[len(whole) :]
        if self._label:
            label = b"%*d: " % (self._width, output.task)
            if not whole.endswith(b"\n"):
                whole += b"\n"
            whole = b"".join(label + line for line in whole.splitlines(keepends=True))
        _write_all(output.target, whole)

    def flush(self) -> None:
        """Write what tasks have printed before they ended: so it comes before what is said about their ends."""
        for end in ready(list(self._outputs), [], 0)[0]:
            self._read(end)

    def _feed(self) -> None:
        try:
            data = os.read(self._source, _CHUNK)
        except OSError:
            data = b""
        if data:
            for rest in self._inputs.values():
                rest.extend(data)
            return
        self._source_is_over = True
        for end in [end for end, rest in self._inputs.items() if not rest]:
            self._close_input(end)

    def _write(self, end: int) -> None:
        rest = self._inputs[end]
        try:
            del rest[: os.write(end, rest[:_CHUNK])]
        except BlockingIOError:
            return
        except OSError:
            rest.clear()  # nobody reads
            self._close_input(end)
            return
        if not rest and self._source_is_over:
            self._close_input(end)

    def _close_input(self, end: int) -> None:
        if end in self._inputs and (self._terminal is None or end != self._terminal.master):
            del self._inputs[end]
            os.close(end)
        elif end not in self._outputs:
            self._inputs.pop(end, None)

    def task_ended(self, task: int) -> None:
        """Stop reading from a terminal whose task has ended, although its children may hold it."""
        if self._terminal is not None and task == 0:
            os.set_blocking(self._terminal.master, False)
            while self._terminal.master in self._outputs:
                self._read(self._terminal.master)

    def resized(self) -> None:
        """Hand on the size of this process's terminal."""
        if self._terminal is not None:
            self._terminal.resized()

    def close(self) -> None:
        """Give the terminal back."""
        if self._terminal is not None:
            self._terminal.close()


class _Output:
    """An output of a task."""

    def __init__(self, task: int, target: int) -> None:
        self.task = task
        self.target = target
        self.rest = b""


class _Terminal:
    """A terminal for the first task, and this process's own, which hands all keys on."""

    def __init__(self) -> None:
        import fcntl
        import termios

        self.master, self.slave = os.openpty()
        os.set_inheritable(self.master, False)
        self._before = None
        try:
            self._before = termios.tcgetattr(0)
            size = fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8))
            fcntl.ioctl(self.slave, termios.TIOCSWINSZ, size)
        except (OSError, termios.error):
            pass  # standard input is no terminal

    def started(self) -> None:
        """Hand keys on from now on."""
        import tty

        if self._before is not None:
            tty.setraw(0)

    def resized(self) -> None:
        """Hand on the size of this process's terminal."""
        import fcntl
        import termios

        try:
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8)))
        except OSError:
            pass

    def close(self) -> None:
        """Set this process's terminal back."""
        import termios

        if self._before is not None:
            termios.tcsetattr(0, termios.TCSADRAIN, self._before)


def take_terminal(slave: int) -> None:
    """Make a terminal that of this process's session."""
    import fcntl
    import termios

    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)


def _write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError:
        pass  # nobody wants to know
