"""Walk the first steps of a new user: the commands of README.md and of the quickstart, in their order.

Run it where `rota` is on the path, as `python tests/first_steps.py FOLDER`, which makes the folder. All commands run in
one shell there, and each has to end with 0. Files of plugins that the pages show are written first. What a page takes
for granted has a stand-in: accounting of a month, with its slurm.conf and accounts, and a Lustre.
"""

from __future__ import annotations

import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "README.md", ROOT / "docs" / "quickstart.md"
MONTH = ROOT / "tests" / "replay" / "data" / "month-22.05"
#: What is done otherwise: make needs the clone, where CI calls it; and rota is on the path already.
PASSED_OVER = ("make run", "make test", ". .venv/bin/activate")
#: What stands in for servers of a file system, in the commands.
STAND_INS = {"--source ssh://mds1 --source ssh://oss1": "--source dir:lustre"}
#: Seconds that all of it may take: users have as long.
TEN_MINUTES = 600
#: The first records of the month, whose replay takes seconds; and of a log in SWF that reaches job 4711.
RECORDS, LINES = 120, 5000


def files_of(page: str) -> dict[str, str]:
    """Give the files that a page tells to write: name and text."""
    return dict(re.findall(r"file `([\w./-]+)`:\n\n```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))


def commands_of(page: str) -> list[str]:
    """Give the commands that a page shows, without comments."""
    blocks = re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [re.sub(r"\s+# .*", "", line.removeprefix("$ ")) for line in lines if line.startswith("$ ")]


def prepare(folder: Path) -> None:
    """Make the stand-ins."""
    folder.mkdir(parents=True)
    records = gzip.decompress((MONTH / "sacct.txt.gz").read_bytes()).splitlines(keepends=True)
    (folder / "october.txt.gz").write_bytes(gzip.compress(b"".join(records[: 1 + RECORDS])))
    shutil.copy(MONTH / "slurm.conf", folder)
    shutil.copy(MONTH / "sacctmgr.dump", folder / "cluster.cfg")
    (log,) = (ROOT / "src" / "rota" / "workload" / "data").glob("KTH-SP2*.swf.gz")
    lines = gzip.decompress(log.read_bytes()).splitlines(keepends=True)
    (folder / "jobs.swf").write_bytes(b"".join(lines[:LINES]))


def lines_of(command: str) -> list[str]:
    """Give what the shell executes for a command: it is shown, and a service is waited for until it says something."""
    shown = f"printf '\\n$ %s\\n' {shlex.quote(command)}"
    for words, others in STAND_INS.items():
        command = command.replace(words, others)
    if command.endswith("&"):
        return [shown, f"{command.removesuffix('&')} > said 2>&1 &", "until [ -s said ]; do sleep 0.1; done; cat said"]
    return [shown, command]


def main() -> None:
    """Walk the steps in the folder that is given."""
    folder = Path(sys.argv[1]).resolve()
    prepare(folder)
    script = ["trap 'kill $(jobs -p)' EXIT", "rota lustre-sim lustre --speed 60 --interval 1 &"]
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        for name, text in files_of(page).items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        script += [line for one in commands_of(page) if one not in PASSED_OVER for line in lines_of(one)]
    ours = {"PATH": os.environ["PATH"], "HOME": str(folder), "ROTA_STATE": str(folder / "state")}
    shell = ["bash", "-euo", "pipefail", "-c", "\n".join(script)]
    if code := subprocess.run(shell, cwd=folder, env=ours, check=False, timeout=TEN_MINUTES).returncode:
        sys.exit(f"the last command above ended with {code}")
    promised = [folder / "easy" / name for name in re.findall(r"^\| `([\w.]+)` \|", PAGES[1].read_text(), re.MULTILINE)]
    promised += [folder / name for name in ("compare.html", "sweep", "october/calibration.html")]
    if missing := [str(path) for path in promised if not path.exists()]:
        sys.exit(f"the pages promise what is not there: {', '.join(missing)}")


if __name__ == "__main__":
    main()
