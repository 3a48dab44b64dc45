#!/bin/sh
# A program of MPICH that is started beneath a task of Open MPI, or of whatever else speaks PMIx, ran by itself up to
# MPICH 4.2: with 4.3.2 it ends in MPI_Init if PMIX_RANK is in the environment ("launcher not compatible with PMI1
# client"), with 5.0.2 also if only PMIX_NAMESPACE is ("Runtime environment uses unsupported PMI version PMIx"). The
# variables alone do it: no server is asked. A task that starts other programs has to take them out of the environment.
# Seen with PyPI's wheels of MPICH 4.2.3, 4.3.2 and 5.0.2, which speak PMI 1 and 2 alone.
# Fails if one of the answers changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for version in 4.2.3 4.3.2 5.0.2; do
  python3 -m venv "$folder/$version"
  "$folder/$version/bin/pip" install --quiet --disable-pip-version-check "mpich==$version"
done
python3 - "$folder" <<'PYTHON'
import subprocess
import sys

PROGRAM = "import ctypes, sys; mpi = ctypes.CDLL(sys.argv[1]); mpi.MPI_Init(None, None); mpi.MPI_Finalize()"


def runs(version, *variables):
    library = f"{sys.argv[1]}/{version}/lib/libmpi.so.12"
    done = subprocess.run(["env", "-i", *variables, sys.executable, "-c", PROGRAM, library], capture_output=True, text=True)
    said = "runs" if done.returncode == 0 else " ".join((done.stdout + done.stderr).split())[:300]
    print(f"MPICH {version} with {' '.join(variables) or 'no variable'}: {said}")
    return done.returncode == 0


assert all(runs(version) for version in ("4.2.3", "4.3.2", "5.0.2"))
assert [runs(version, "PMIX_RANK=0") for version in ("4.2.3", "4.3.2", "5.0.2")] == [True, False, False]
assert [runs(version, "PMIX_NAMESPACE=a") for version in ("4.2.3", "4.3.2", "5.0.2")] == [True, True, False]
PYTHON
