"""What a user's process or file system can delay is done by children, at most one at a time for each user.

To read the environment of a process is to read its memory, which it can keep on a file system that does not answer; a
lock that it holds keeps readers waiting as well. A child that says nothing for a second is killed. The kernel may not
let it end, either: then there is no other one for this user as long as it is there, and what is asked of the user's
processes has no answer. Nobody else waits.
"""

from __future__ import annotations

import os
import select
import signal
import struct
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Self

    from rota.executor.supervisor.loop import Loop

    #: What is read of a process, by its pid.
    Question = Callable[[int], bytes]
    Answers = dict[int, bytes]

#: Seconds for which a child may say nothing.
PATIENCE = 1.0
#: Seconds until a user of whom a child was killed gets another one, at first and at most.
_PAUSE, _LONGEST_PAUSE = 1.0, 8.0
#: Questions about the processes of a user that wait for their turn at most.
_MOST_WAITING = 256
#: An answer: the pid and the number of bytes.
_HEAD = struct.Struct("=iI")


class Child:
    """A child that does some work, and may say something.

    Args:
        work: The work; it is given a file descriptor to write to.
        kept: The file descriptors that it needs. All others are closed: it may be there for ever, and must not keep
            what is locked or connected.

    Raises:
        OSError: there is no room for another process.
    """

    __slots__ = ("_buffer", "pid", "pipe")

    def __init__(self, work: Callable[[int], None], kept: Iterable[int] = ()) -> None:
        self.pipe, write_end = os.pipe()
        try:
            self.pid = os.fork()
            if not self.pid:
                _work(work, write_end, kept)
        except OSError:
            os.close(self.pipe)
            raise
        finally:
            os.close(write_end)
        self._buffer = b""

    @classmethod
    def answering(cls, question: Question, pids: Iterable[int]) -> Self:
        """Have a child answer a question about processes."""

        def work(out: int) -> None:
            for pid in pids:
                answer = question(pid)
                data = _HEAD.pack(pid, len(answer)) + answer
                while data:
                    data = data[os.write(out, data) :]

        return cls(work)

    def heard(self) -> Answers | None:
        """Give the answers that have come; ``None``: it has ended. To be called when there is something to read."""
        data = os.read(self.pipe, 1 << 16)
        if not data:
            return None
        self._buffer += data
        answers: Answers = {}
        place = 0
        while place + _HEAD.size <= len(self._buffer):
            pid, size = _HEAD.unpack_from(self._buffer, place)
            end = place + _HEAD.size + size
            if end > len(self._buffer):
                break
            answers[pid] = self._buffer[place + _HEAD.size : end]
            place = end
        self._buffer = self._buffer[place:]
        return answers


def _work(work: Callable[[int], None], out: int, kept: Iterable[int]) -> None:
    """Be the child."""
    try:
        signal.set_wakeup_fd(-1)
        first = 0
        for fd in sorted({out, *kept}):
            os.closerange(first, fd)
            first = fd + 1
        os.closerange(first, os.sysconf("SC_OPEN_MAX"))
        work(out)
    finally:
        os._exit(0)


class _Asked:
    """A question about some processes of a user."""

    __slots__ = ("answers", "child", "pids", "question", "then", "until")

    def __init__(self, pids: list[int], question: Question, then: Callable[[Answers | None], None]) -> None:
        self.pids = pids
        self.question = question
        self.then = then
        self.answers: Answers = {}
        self.child: Child | None = None
        #: Monotonic seconds until which something has to be heard.
        self.until = 0.0


class Apart:
    """Asks about processes, and has other work done, without waiting for it.

    Args:
        loop: The loop.
    """

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        #: The children that have not been reaped.
        self._pids: set[int] = set()
        #: What is asked about the processes of each user: the first is at work.
        self._asked: dict[int, list[_Asked]] = {}
        #: The child of each user that was killed and may not have ended, and when there may be another one.
        self._killed: dict[int, tuple[int, float, float]] = {}

    @property
    def pids(self) -> set[int]:
        """The children."""
        return self._pids

    def reaped(self, pid: int) -> None:
        """Hear that a child of this process has been reaped."""
        self._pids.discard(pid)

    # ---- questions --------------------------------------------------------------------------------------------

    def ask(self, uid: int, pids: list[int], question: Question, then: Callable[[Answers | None], None]) -> None:
        """Ask about processes of a user.

        Args:
            uid: The user.
            pids: The processes. They are asked about in this order.
            question: What is asked: it is answered by a child.
            then: Function that gets the answers: fewer than processes, if one of these keeps the child waiting. It gets
                ``None`` if nothing can be asked now.
        """
        waiting = self._asked.setdefault(uid, [])
        if len(waiting) >= _MOST_WAITING or not self._may_ask(uid):
            self._loop.after(0, lambda: then(None))
            return
        waiting.append(_Asked(pids, question, then))
        if len(waiting) == 1:
            self._next(uid)

    def _may_ask(self, uid: int) -> bool:
        """Whether a user may have a child now."""
        if uid not in self._killed:
            return True
        pid, _, until = self._killed[uid]
        return pid not in self._pids and time.monotonic() >= until

    def _next(self, uid: int) -> None:
        """Begin with the next question about a user's processes."""
        while self._asked[uid]:
            asked = self._asked[uid][0]
            try:
                if not self._may_ask(uid):
                    raise OSError("there may be none now")
                asked.child = child = Child.answering(asked.question, asked.pids)
            except OSError:
                self._asked[uid].pop(0)
                self._loop.after(0, lambda asked=asked: asked.then(None))  # type: ignore[misc]
                continue
            self._pids.add(child.pid)
            asked.until = time.monotonic() + PATIENCE
            self._loop.watch(child.pipe, self._hearer(uid, asked))
            self._limit(uid, asked)
            return
        del self._asked[uid]

    def _hearer(self, uid: int, asked: _Asked) -> Callable[[int], None]:
        def hear(_: int) -> None:
            assert asked.child is not None  # noqa: S101 - it is watched
            answers = asked.child.heard()
            if answers is None:
                self._killed.pop(uid, None)
                self._over(uid, asked)
            elif answers:
                asked.answers |= answers
                asked.until = time.monotonic() + PATIENCE

        return hear

    def _limit(self, uid: int, asked: _Asked) -> None:
        """Kill a child that says nothing for too long."""
        if asked.child is None:
            return
        left = asked.until - time.monotonic()
        if left > 0:
            self._loop.after(left, lambda: self._limit(uid, asked))
            return
        self._kill(asked.child)
        pause = min(2 * self._killed[uid][1], _LONGEST_PAUSE) if uid in self._killed else _PAUSE
        self._killed[uid] = asked.child.pid, pause, time.monotonic() + pause
        self._over(uid, asked)

    def _over(self, uid: int, asked: _Asked) -> None:
        assert asked.child is not None  # noqa: S101 - it was at work
        self._loop.unwatch(asked.child.pipe)
        os.close(asked.child.pipe)
        asked.child = None
        self._asked[uid].pop(0)
        self._next(uid)
        asked.then(asked.answers)

    def _kill(self, child: Child) -> None:
        """Kill a child, unless it has been reaped. It is reaped as an orphan of the runs is, if it ends."""
        if child.pid in self._pids:
            os.kill(child.pid, signal.SIGKILL)

    # ---- other work -------------------------------------------------------------------------------------------

    def do(self, work: Callable[[int], None], kept: Iterable[int], then: Callable[[], None]) -> None:
        """Have a child do something; go on when it has been done, or after a second, when it is killed.

        Raises:
            OSError: there is no room for another process.
        """
        child = Child(work, kept)
        self._pids.add(child.pid)
        is_over = False

        def over() -> None:
            nonlocal is_over
            if is_over:
                return
            is_over = True
            self._loop.unwatch(child.pipe)
            os.close(child.pipe)
            self._kill(child)
            then()

        self._loop.watch(child.pipe, lambda _: over())
        self._loop.after(PATIENCE, over)


def ask_and_wait(question: Question, pids: Iterable[int]) -> Answers:
    """Ask about processes and wait for the answers, as long as there is one every second."""
    answers: Answers = {}
    child = Child.answering(question, pids)
    while select.select([child.pipe], [], [], PATIENCE)[0]:
        heard = child.heard()
        if heard is None:
            break
        answers |= heard
    os.close(child.pipe)
    os.kill(child.pid, signal.SIGKILL)
    pidfd = os.pidfd_open(child.pid)
    if select.select([pidfd], [], [], PATIENCE)[0]:  # else the kernel does not let it end
        os.waitpid(child.pid, 0)
    os.close(pidfd)
    return answers
