"""A real Grid Engine, started for a test and stopped after it, on ports and in a directory of its own.

It needs Debian's gridengine-master, gridengine-exec and gridengine-client (Son of Grid Engine 8.1.9), and root.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .real_slurm import open_to_all, ports, start, until

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS = ("sge_qmaster", "sge_execd", "qstat", "qconf", "qsub", "qacct")
#: Debian's tools for a first configuration, and what is configured.
TOOLS = Path("/usr/lib/gridengine")
DEFAULTS = Path("/usr/share/gridengine")

BOOTSTRAP = """\
admin_user              none
default_domain          none
ignore_fqdn             true
spooling_method         classic
spooling_lib            libspoolc
spooling_params         {spooling}
binary_path             /usr/sbin
qmaster_spool_dir       {root}/qmaster
security_mode           none
listener_threads        1
worker_threads          1
scheduler_threads       1
jvm_threads             0
"""
#: What a queue and a host have that is not their default.
QUEUE = {
    "qname": "all.q",
    "hostlist": "localhost",
    "slots": "4",
    "shell": "/bin/sh",
    "load_thresholds": "NONE",
    "pe_list": "NONE",
}
HOST = {"hostname": "localhost"}
PROJECT = "name phys\noticket 0\nfshare 0\nacl NONE\nxacl NONE\n"


def skip_unless_there() -> None:
    """Skip the test where a real Grid Engine cannot be started."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        pytest.skip(f"a real Grid Engine is not there: {', '.join(missing)}")
    if os.geteuid() != 0:
        pytest.skip("a real Grid Engine needs root")


@contextmanager
def real_gridengine(root: Path) -> Iterator[None]:
    """Give a context in which this process and those that it starts find a real Grid Engine."""
    master, execd = ports(2)
    spooling = _files(root)
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in {
            "SGE_ROOT": root, "SGE_CELL": "default", "SGE_QMASTER_PORT": master, "SGE_EXECD_PORT": execd,
            "SGE_ARCH": "lx-amd64", "SGE_ND": "1",
        }.items():  # fmt: skip
            patch.setenv(name, str(value))
        _run(str(TOOLS / "spoolinit"), "classic", "libspoolc", spooling, "init")
        for kind, what in {
            "configuration": str(root / "configuration"),
            "complexes": str(DEFAULTS / "util/resources/centry"),
            "usersets": str(DEFAULTS / "util/resources/usersets"),
            "managers": "root",
        }.items():
            _run(str(TOOLS / "spooldefaults"), kind, what)
        start(stack, root, "sge_qmaster")
        until("qconf", "-sh")
        _run("qconf", "-as", "localhost")
        host = _like("-se", "template", HOST)
        _configure(root, "-Ae", re.sub(r"^(load_values|processors) .*\n", "", host, flags=re.MULTILINE))
        _configure(root, "-Aprj", PROJECT)
        fast = {"schedule_interval": "0:0:1", "flush_submit_sec": "1", "flush_finish_sec": "1"}
        _configure(root, "-Msconf", _like("-ssconf", "", fast))
        start(stack, root, "sge_execd")
        _configure(root, "-Aq", _like("-sq", "", QUEUE))
        try:
            yield
        finally:
            subprocess.run(["qdel", "-u", "*"], capture_output=True, check=False)
            until("sh", "-c", "! qstat -u '*' | grep .")


def _files(root: Path) -> str:
    """Write what Grid Engine reads before it runs; give the parameters of its spooling."""
    common = root / "default" / "common"
    for path in (common, root / "qmaster" / "job_scripts", root / "execd", root / "bin", root / "utilbin"):
        path.mkdir(parents=True)
    (root / "util").symlink_to(DEFAULTS / "util")
    for folder in ("bin", "utilbin"):
        (root / folder / "lx-amd64").symlink_to(TOOLS)
    spooling = f"{common};{root}/qmaster"
    (common / "bootstrap").write_text(BOOTSTRAP.format(root=root, spooling=spooling))
    (common / "act_qmaster").write_text("localhost\n")
    (common / "host_aliases").write_text(f"localhost {socket.gethostname()}\n")
    text = (DEFAULTS / "default-configuration").read_text()
    # Jobs of any user; what has ended is in the accounting at once.
    for name, value in {
        "execd_spool_dir": str(root / "execd"), "min_uid": "0", "min_gid": "0", "load_report_time": "00:00:01",
    }.items():  # fmt: skip
        text = re.sub(rf"^{name}\s.*$", f"{name} {value}", text, flags=re.MULTILINE)
    text = text.replace("flush_time=00:00:15", "flush_time=00:00:01 accounting_flush_time=00:00:00")
    (root / "configuration").write_text(text)
    open_to_all(root)
    return spooling


def _like(option: str, name: str, changes: dict[str, str]) -> str:
    """Give a configuration as qconf prints it, with changes."""
    text = _run("qconf", option, *filter(None, [name]))
    for key, value in changes.items():
        text = re.sub(rf"^{key}\s.*$", f"{key} {value}", text, flags=re.MULTILINE)
    return text


def _configure(root: Path, option: str, text: str) -> None:
    file = root / "change"
    file.write_text(text)
    _run("qconf", option, str(file))


def _run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return done.stdout
