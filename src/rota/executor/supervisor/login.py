"""The environment that a login gives a user, for runs that are to have it: ``--export=NONE``, ``--get-user-env``.

As ``su -`` does, the user's shell is started as a login shell, and asked. A run that is the user's already asks, so
nothing of it is more than the user may do. Whoever has a shell that says nothing gets what the machine knows of them.
"""

from __future__ import annotations

import os
import pwd
import select
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

#: Seconds after which a shell is not waited for any longer.
_PATIENCE = 10.0
#: The most that a shell may say, in bytes.
_MOST = 1 << 20
#: What comes before the variables: a profile may print something, too.
_MARK = b"ROTA-LOGIN-ENVIRONMENT"
#: Variables of the shell that was asked.
_OF_SHELL = frozenset({b"_", b"SHLVL", b"PWD", b"OLDPWD"})
_PATH = b"/usr/local/bin:/usr/bin:/bin"


def environment(commands: bytes) -> dict[bytes, bytes]:
    """Give the variables of a login of this process's user.

    Args:
        commands: The directory of the cluster's commands, which are on the path whatever a profile says.
    """
    try:
        user = pwd.getpwuid(os.getuid())
    except KeyError:
        return {b"PATH": commands + b":" + _PATH}
    name, home, shell = (os.fsencode(one) for one in (user.pw_name, user.pw_dir, user.pw_shell or "/bin/sh"))
    known = {b"HOME": home, b"USER": name, b"LOGNAME": name, b"SHELL": shell, b"PATH": _PATH}
    known |= {b"MAIL": b"/var/mail/" + name}
    found = known | _asked(shell, home, known)
    if commands not in found[b"PATH"].split(b":"):
        found[b"PATH"] = commands + b":" + found[b"PATH"]
    return found


def _asked(shell: bytes, home: bytes, known: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Ask a login shell for its variables; nothing: it does not say."""
    reading, writing = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        return {}
    if not pid:
        try:
            _become_shell(shell, home, known, writing)
        finally:
            os._exit(1)
    os.close(writing)
    said, until = b"", time.monotonic() + _PATIENCE
    while len(said) < _MOST and select.select([reading], [], [], max(until - time.monotonic(), 0.0))[0]:
        more = os.read(reading, 1 << 16)
        if not more:
            break
        said += more
    os.close(reading)
    try:
        os.killpg(pid, signal.SIGKILL)  # what a profile has left in the background, or one that never ends
    except OSError:
        pass
    os.waitpid(pid, 0)
    pairs = (one.partition(b"=") for one in said.partition(_MARK)[2].strip(b"\n").split(b"\0"))
    return {name: value for name, equals, value in pairs if equals and name not in _OF_SHELL}


def _become_shell(shell: bytes, home: bytes, known: dict[bytes, bytes], writing: int) -> NoReturn:
    """Become a login shell that says its variables. Never returns."""
    os.setpgid(0, 0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for target, end in enumerate((nowhere, writing, nowhere)):
        os.dup2(end, target)
    try:
        os.chdir(home)
    except OSError:
        os.chdir("/")
    argv = [b"-" + os.path.basename(shell), b"-c", b"echo " + _MARK + b"; exec env -0"]
    os.execve(shell, argv, known)  # noqa: S606 - the user's own shell
