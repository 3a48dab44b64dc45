"""A task that says to the PMI server what a file has for it, and prints what it hears.

The first word is the version of PMI, the second names the file: lines of a rank or ``*`` and a request.
"""

import os
import socket
import sys
from pathlib import Path

server = socket.socket(fileno=int(os.environ["PMI_FD"]))
answers = server.makefile("rb")
version = sys.argv[1]
for line in Path(sys.argv[2]).read_text().splitlines():
    rank, _, request = line.partition(" ")
    if rank not in {"*", os.environ["PMI_RANK"]}:
        continue
    request = request.format(rank=os.environ["PMI_RANK"], job=os.environ["PMI_JOBID"])
    if version == "1" or request.startswith("cmd=init "):
        server.sendall(request.replace("|", "\n").encode() + b"\n")
        answer = answers.readline().decode().rstrip("\n")
    else:
        server.sendall(f"{len(request):6}{request}".encode())
        answer = answers.read(int(answers.read(6) or 0)).decode()
    sys.stdout.write(f"{request}\n-> {answer}\n")
    sys.stdout.flush()
