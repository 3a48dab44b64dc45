"""Bad input for Slurm's commands: the messages and exit codes of Slurm 22.05.8, and no traceback in any case."""

from __future__ import annotations

import re
import socket
import struct
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rota.testing.live import LiveCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONF = """
ClusterName=rig
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/multifactor
GresTypes=gpu
NodeName=n[01-02] CPUs=4 RealMemory=8000 Gres=gpu:2 Feature=virt
PartitionName=debug Nodes=ALL Default=YES DefMemPerCPU=100 MaxTime=INFINITE
PartitionName=high Nodes=ALL MaxTime=60
PartitionName=short Nodes=n01 MaxTime=10
"""
_RECORDED = (Path(__file__).parent / "data" / "bad-input.txt").read_text().split("\n\n")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    """A cluster of two virtual nodes, like the one that was recorded."""
    with LiveCluster(tmp_path_factory.mktemp("bad"), _CONF) as found:
        yield found


@pytest.mark.parametrize("record", _RECORDED, ids=[one.partition("\n")[0] for one in _RECORDED])
def test_messages_and_exit_codes(cluster: LiveCluster, record: str) -> None:
    command, status, *lines = record.strip().split("\n")
    done = cluster.run("bash", "-c", command.removeprefix("$ "), check=False)
    assert done.returncode == int(status.removeprefix("= "))
    # rota may say more, such as what would be right.
    said = [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]
    assert [line for line in lines if line.rstrip() not in said] == []


@pytest.mark.parametrize(
    "option", ["--job-name", "--comment", "--account", "--wckey", "--partition", "--licenses", "--qos"]
)
def test_texts_have_a_longest_length(cluster: LiveCluster, option: str) -> None:
    # As recorded from Slurm 22.05.8.
    done = cluster.run("sbatch", "-H", f"{option}={'x' * 1025}", "--wrap", "true", check=False)
    sentence = "Pathname of a file, directory or other parameter too long"
    assert (done.returncode, done.stderr) == (1, f"sbatch: error: Batch job submission failed: {sentence}\n")


# ---- anything at all --------------------------------------------------------------------------------------------

_OPTIONS = """
-a -A -b -B -c -C -d -D -e -E -f -F -G -h -H -i -I -j -J -k -l -L -m -M -n -N -o -O -p -P -q -Q -r -R -s -S -t -T -u -U
-v -V -w -x -X -Z --array --account --begin --constraint --cpus-per-task --deadline --dependency --distribution
--exclude --exclusive --export --format --Format --gpus --gres
--hint --hold --json --licenses --mail-type --mem --name --nice
--nodelist --nodes --ntasks --open-mode --parsable2 --priority --propagate --qos --reservation --signal --sort --start
--state --starttime --endtime --time --time-min --units --user --yaml --multi-prog --pty
"""
_WORDS = """
show list add modify delete update create hold release requeue suspend resume reconfigure hostnames dump load set where
job jobs node nodes partition reservation steps hostlist config account user qos association cluster coordinator top
utilization jobid=1 nodename=n01 partitionname=high state=drain reason=x timelimit=+1 priority=4294967295 duration=1
nice=-99999999999 starttime=now+1 users=root reservationname=r name=x account=root parent=root fairshare=1 maxjobs=-1
grptres=cpu=1 adminlevel=operator format=user%0 1 1_2 1_[0-3] 1.0 1.batch 99999999999999999999 -1 0 0-0 1-2 1- n[1-2
n[01-02] debug n01 now now-1day tomorrow 2026-11-22T25:00 99:99:99 1-0 UNLIMITED 10G -5M gpu:2 gpu::: virt&virt [virt*2]
afterok:1 singleton afterok:1?afterok:2 %i %.9999999999i %all all root USR1 B:USR1@1 TOP mem=1G = == , ,, % %% - --
: @ ' " \\ () [] {} true
"""
_COMMANDS = "sbatch srun salloc squeue sinfo sacct scancel scontrol sacctmgr sreport sprio sshare sdiag rota-call"
_VARIABLES = """
SBATCH_TIMELIMIT SBATCH_EXPORT SLURM_NTASKS SQUEUE_FORMAT SINFO_FORMAT SACCT_FORMAT SLURM_TIME_FORMAT SCANCEL_STATE
"""
_A_WORD, _AN_OPTION = st.sampled_from(_WORDS.split()), st.sampled_from(_OPTIONS.split())
_ANY = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), max_size=12)
_VALUE = st.one_of(_A_WORD, _ANY)
_ARGUMENT = st.one_of(
    _A_WORD,
    _AN_OPTION,
    _ANY,
    st.tuples(_AN_OPTION, st.sampled_from(["=", "", ","]), _VALUE).map("".join),
    st.tuples(_A_WORD, _ANY).map("=".join),
)
_NOT_IN_OUTPUT = re.compile(r"defect of rota|Traceback \(most|\w+Error\(")


def _call(cluster: LiveCluster, words: list[str], environment: dict[str, str]) -> str:
    """Give a command as its client does, and leave as soon as it would have to do something; give the output."""
    texts = ["1", "22", str(cluster.directory), str(len(words)), *words]
    texts += [f"{name}={value}" for name, value in environment.items()]
    data = "".join(f"{text}\0" for text in texts).encode()
    said = ""
    with socket.socket(socket.AF_UNIX) as connection, chdir(cluster.state):
        connection.connect("rota.sock")
        connection.sendall(struct.pack(">I", len(data)) + data)
        if words[0] != "sbatch":
            connection.shutdown(socket.SHUT_WR)  # nobody waits for resources
        stream = connection.makefile("rb")
        while head := stream.read(5):
            letter, text = head[:1], stream.read(int.from_bytes(head[1:], "big"))
            if letter == b"r" and words[0] == "sbatch":
                script = b"#!/bin/true\n"
                connection.sendall(b"+" + struct.pack(">I", len(script)) + script)
            elif letter in b"oe":
                said += text.decode(errors="replace")
            else:
                break
    return said


@settings(max_examples=8 * settings().max_examples)
@given(
    st.sampled_from(_COMMANDS.split()),
    st.lists(_ARGUMENT, max_size=6),
    st.dictionaries(st.sampled_from(_VARIABLES.split()), _VALUE, max_size=1),
)
def test_there_is_no_traceback(
    cluster: LiveCluster, command: str, words: list[str], environment: dict[str, str]
) -> None:
    assume("down" not in words)  # of rota-call
    assume(not any(re.match(r"-\w*W|--wa|--wr", word) for word in words))  # waits for the job; runs what is drawn
    said = _call(cluster, [command, *words], environment)
    assert not _NOT_IN_OUTPUT.search(said), (command, words, environment)


def test_the_log_has_no_traceback(cluster: LiveCluster) -> None:
    # After the test above, which may have done to the cluster whatever an administrator can.
    cluster.run("squeue", "-h")
    assert not _NOT_IN_OUTPUT.search((cluster.state / "controller.log").read_text())
