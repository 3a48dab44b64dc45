#!/bin/sh
# On Linux, psutil's `Process.io_counters()` of a process (it reads /proc/PID/io) rises by all that a child has written
# at the moment when the child is waited for; `cpu_times()` keeps what the children have used in fields of its own. Who
# adds up the processes of a job while they run counts such bytes twice, once with the child and again with its parent;
# who subtracts two samples of a shell sees a burst that it never wrote. /proc/PID/task/PID/io has the process's own
# alone. Seen with psutil 7.0.0 and Linux 6.18; psutil's documentation does not tell.
# Fails if a parent's counter does not rise any more, or if psutil has a field for the children's.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check psutil==7.0.0
cd "$folder"
venv/bin/python - <<'PYTHON'
import platform
import subprocess

import psutil

WRITTEN = 8 << 20
me = psutil.Process()


def of_thread():
    with open(f"/proc/self/task/{me.pid}/io") as file:
        return int(next(line for line in file if line.startswith("wchar")).split()[1])


child = subprocess.Popen(["dd", "if=/dev/zero", "of=written", "bs=1M", "count=8", "status=none"])
while psutil.Process(child.pid).status() != psutil.STATUS_ZOMBIE:
    pass
before, thread_before = me.io_counters(), of_thread()
child.wait()
after, thread_after = me.io_counters(), of_thread()
print("psutil", psutil.__version__, "Linux", platform.release())
print("write_chars of the parent rises by", after.write_chars - before.write_chars, "as the child is waited for")
print("that of its only thread rises by", thread_after - thread_before)
assert after.write_chars - before.write_chars >= WRITTEN
assert thread_after - thread_before < 100_000
assert not [name for name in after._fields if "child" in name]
assert "children_user" in me.cpu_times()._fields
PYTHON
