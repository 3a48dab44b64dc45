"""A workflow of snakemake that is interrupted as by Ctrl-C while its jobs run. Its arguments are those of snakemake."""

import signal
import subprocess
import sys
import time
from pathlib import Path

signal.signal(signal.SIGINT, signal.SIG_DFL)  # what is started in the background of a shell ignores it
snakemake = subprocess.Popen(["snakemake", *sys.argv[1:]])
while len(list(Path().glob("running-*"))) < 2:
    assert snakemake.poll() is None
    time.sleep(0.1)
snakemake.send_signal(signal.SIGINT)
snakemake.wait()
