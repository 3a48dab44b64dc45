"""What the kernel tells of processes: exits with their usage, start times, sessions; and a few rare system calls.

Exits are looked at first (``WNOWAIT``) and reaped after they have been noted. Whoever is killed in between leaves the
exit to the next process that waits.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
import time
from stat import S_ISREG

#: `waitid` with the usage of the process: ``os.waitid`` leaves it out. Numbers of the system call.
_WAITID = {"x86_64": 247, "aarch64": 95, "riscv64": 95, "loongarch64": 95, "ppc64le": 272, "s390x": 281}.get(
    os.uname().machine, 0
)
#: ``pidfd_getfd`` of Linux 5.6, the same number everywhere.
_PIDFD_GETFD = 438
_PR_SET_CHILD_SUBREAPER = 36
_P_ALL, _P_PID = 0, 1
_CLD_EXITED = 1
#: Kernel 6.15: ``_IOWR(0xFF, 11, struct pidfd_info)`` in its first version, of 64 bytes.
_PIDFD_GET_INFO = 0xC040FF0B
_PIDFD_INFO_EXIT = 8

_libc = ctypes.CDLL(None, use_errno=True)
_siginfo = ctypes.create_string_buffer(128)
_rusage = ctypes.create_string_buffer(144)

#: Clock ticks a second.
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Exit:
    """How a process has ended, and what it and the children that it has waited for have used."""

    __slots__ = ("code", "max_rss", "pid", "read", "signal", "system", "time", "user", "written")

    def __init__(self, pid: int, code: int, signal: int) -> None:
        self.pid = pid
        self.code = code
        #: The signal that ended it; 0: none.
        self.signal = signal
        #: Unix seconds.
        self.time = time.time()
        self.user = self.system = 0.0
        #: Bytes.
        self.max_rss = self.read = self.written = 0


def become_subreaper() -> None:
    """Become the parent of all orphans among the descendants of this process."""
    if _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot become a subreaper")


def look_at_exit(pid: int = 0, *, block: bool = False) -> Exit | None:
    """Give the exit of a child (0: of any child) without reaping it; ``None``: there is none."""
    options = os.WEXITED | os.WNOWAIT | (0 if block else os.WNOHANG)
    which = _P_PID if pid else _P_ALL
    if not _WAITID:
        try:
            info = os.waitid(which, pid, options)
        except ChildProcessError:
            return None
        return None if info is None else _exit(info.si_pid, info.si_code, info.si_status)
    ctypes.memset(_siginfo, 0, 28)
    if _libc.syscall(_WAITID, which, pid, _siginfo, options, _rusage):
        return None
    code, ended, status = struct.unpack_from("8xi4xi4xi", _siginfo)
    if not ended:
        return None
    exit_ = _exit(ended, code, status)
    user, user_us, system, system_us, rss, read, written = struct.unpack_from("5l48x2l", _rusage)
    exit_.user, exit_.system = user + user_us / 1e6, system + system_us / 1e6
    exit_.max_rss, exit_.read, exit_.written = rss * 1024, read * 512, written * 512
    return exit_


def _exit(pid: int, code: int, status: int) -> Exit:
    return Exit(pid, status, 0) if code == _CLD_EXITED else Exit(pid, 0, status & 0x7F)


def reap(pid: int) -> None:
    """Reap a child that has ended."""
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass


def write_to_file_of(pidfd: int, number: int, text: str, uid: int) -> None:
    """Write to what a process has open under a number, if that is a regular file open for writing; else do nothing.

    It is the process's own description of the file: what the process may not write to cannot be written to so. It may
    take any time. Only for a child that does nothing else: it becomes the user; -1: it does not.
    """
    fd = _libc.syscall(_PIDFD_GETFD, pidfd, number, 0)
    if fd < 0:
        return
    if uid > 0 and not os.geteuid():
        os.setgroups([])
        os.setuid(uid)
    if S_ISREG(os.fstat(fd).st_mode):
        os.write(fd, text.encode())


def signal_group(leader: int, number: int) -> None:
    """Send a signal to a process group, of which there may be nothing left, or nothing that is ours."""
    try:
        os.killpg(leader, number)
    except OSError:
        pass


def exit_of_stranger(pid: int, ticks: int, pidfd: int, keeper: int) -> Exit | None:
    """Give the exit of a process that is not this one's child, where the kernel tells it; ``None``: it does not.

    A process that nobody has waited for shows its status in /proc, one that has been waited for in its pidfd. Of its
    own children the keeper will tell more.
    """
    stat = stat_of(pid)
    if stat is not None and stat.ticks == ticks:
        status = stat.status if stat.has_ended and stat.parent != keeper else None
    else:
        status = _status_by_pidfd(pidfd)
    if status is None:
        return None
    return Exit(pid, status >> 8, 0) if status & 0x7F == 0 else Exit(pid, 0, status & 0x7F)


def _status_by_pidfd(pidfd: int) -> int | None:
    if pidfd < 0:
        return None
    info = bytearray(struct.pack("Q56x", _PIDFD_INFO_EXIT))
    try:
        fcntl.ioctl(pidfd, _PIDFD_GET_INFO, info)
    except OSError:
        return None
    mask, status = struct.unpack("Q52xi", info)
    return status if mask & _PIDFD_INFO_EXIT else None


class Stat:
    """What /proc/PID/stat says of a process."""

    __slots__ = ("image", "pages", "parent", "pid", "session", "state", "status", "system", "threads", "ticks", "user")

    def __init__(self, pid: int, line: bytes) -> None:
        # The name is in parentheses and may contain anything.
        fields = line[line.rindex(b")") + 2 :].split()
        self.pid = pid
        self.state = fields[0].decode()
        self.parent = int(fields[1])
        self.session = int(fields[3])
        #: Page faults that needed a disk.
        self.pages = int(fields[9])
        #: Seconds of it and of the children that it has waited for.
        self.user = (int(fields[11]) + int(fields[13])) / TICKS
        self.system = (int(fields[12]) + int(fields[14])) / TICKS
        self.threads = int(fields[17])
        #: When it was started, in clock ticks since the machine was: with the pid this names it for good.
        self.ticks = int(fields[19])
        #: Where arguments and environment are in its memory: it is another one once it has executed a program, and the
        #: same in a fork. Empty: it has no memory, since it is ending or is the kernel's; or what follows its first
        #: thread has it.
        self.image = b" ".join(fields[45:49]).decode() if fields[20] != b"0" else ""
        self.status = int(fields[49])

    @property
    def has_ended(self) -> bool:
        """Whether all of its threads have: the first one looks so as soon as it has."""
        return self.state in "ZX" and self.threads <= 1


def stat_of(pid: int) -> Stat | None:
    """Read /proc/PID/stat; ``None``: there is no such process."""
    line = read(f"/proc/{pid}/stat")
    return Stat(pid, line) if line else None


def read(path: str) -> bytes:
    """Read a file of the kernel; nothing: it is not there, or not for us."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        data = b""
        while chunk := os.read(fd, 65536):
            data += chunk
    except OSError:
        return b""
    finally:
        os.close(fd)
    return data


def write(path: str, text: str) -> bool:
    """Write to a file of the kernel; ``False``: it refuses."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.write(fd, text.encode())
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def user_of(pid: int) -> int:
    """Give the real user id of a process, which a program that is set-uid leaves as it is; -1: there is none."""
    ids = _user_ids(pid)
    return ids[0] if ids else -1


def users_of(pid: int) -> set[int]:
    """Give the real, the effective and the other user ids of a process; none: there is no such process."""
    return set(_user_ids(pid))


def _user_ids(pid: int) -> list[int]:
    line = read(f"/proc/{pid}/status").partition(b"\nUid:\t")[2].partition(b"\n")[0]
    return [int(word) for word in line.split()]


def numbers(path: str, *, colon: bool = False) -> dict[str, int]:
    """Read a file of lines with a name, maybe with a colon, and a number."""
    pairs = [line.split() for line in read(path).decode().splitlines()]
    numbers = {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].lstrip("-").isdigit()}
    return {name.rstrip(":"): number for name, number in numbers.items()} if colon else numbers


def pidfd_of(pid: int, ticks: int) -> int:
    """Open a process that was started at some time; -1: it is not there any more, or is another one."""
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return -1
    # The time is looked at afterwards: whatever has the pid then is what was opened.
    stat = stat_of(pid)
    if stat is None or stat.ticks != ticks:
        os.close(pidfd)
        return -1
    return pidfd


def boot() -> str:
    """Give the id of this boot of the machine."""
    return read("/proc/sys/kernel/random/boot_id").decode().strip()
