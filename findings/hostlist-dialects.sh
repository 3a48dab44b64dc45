#!/bin/sh
# Three host lists that Slurm's `scontrol show hostnames` 22.05.8 expands, and two Python libraries that read Slurm's
# lists: each list is refused by one of them or comes out otherwise.
#
#   list            scontrol 22.05.8    python-hostlist 2.3.0    ClusterShell 1.10.1
#   n[0-1][0-1]     n00 n01 n10 n11     the same                 NodeSetParseError: illegal reopening bracket
#   n[001-2]        n001 n002           the same                 NodeSetParseRangeError: padding length mismatch
#   n[1,1-2]        n1 n1 n2            n1 n2                    n1 n2
#
# So `SLURM_JOB_NODELIST` of a machine whose racks and slots have a bracket each cannot be given to ClusterShell, though
# n[0-1]c[0-1], with a letter between the brackets, can; and a count of the nodes that somebody named depends on the reader.
# Fails if one of the libraries answers otherwise.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ClusterShell==1.10.1 python-hostlist==2.3.0
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

from ClusterShell.NodeSet import NodeSet
from hostlist import expand_hostlist


def answer(expand, text):
    try:
        return " ".join(expand(text))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).split(':')[0]}"


EXPECTED = {
    "n[0-1]c[0-1]": ("n0c0 n0c1 n1c0 n1c1", "n0c0 n0c1 n1c0 n1c1"),
    "n[0-1][0-1]": ("n00 n01 n10 n11", "NodeSetParseError: illegal reopening bracket"),
    "n[001-2]": ("n001 n002", "NodeSetParseRangeError: bad range"),
    "n[1,1-2]": ("n1 n2", "n1 n2"),
}
for name in ("python-hostlist", "ClusterShell"):
    print(name, version(name))
for text, expected in EXPECTED.items():
    found = answer(expand_hostlist, text), answer(lambda one: list(NodeSet(one)), text)
    print(f"{text:14} {found[0]:22} {found[1]}")
    assert found == expected, f"{text}: this has changed"
PYTHON
