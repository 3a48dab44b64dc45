"""Every option in the ``--help`` of Slurm 22.05.8's commands: rota carries it out, or refuses it by name.

``data/options.txt`` lists them: command, letter, long name, and ``=`` or ``?`` for a value that is needed or optional.
What is accepted without being carried out makes no difference to what comes of a job, or rota has nothing that it is
about: the tables of options say why.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.commands.allocation import read_salloc
from rota.commands.getopt import UsageError
from rota.commands.option_error import OptionError
from rota.commands.refusals import refusal
from rota.commands.scancel import parse_scancel
from rota.commands.srun import read_srun
from rota.commands.submission import Client, read_command_line, read_submission
from rota.listings import run

from .rig import rig

_OPTIONS = [line.split() for line in (Path(__file__).parent / "data" / "options.txt").read_text().splitlines()]
#: What is refused by name.
_REFUSED = {
    "sacct": "-B -I -K -c -f -i -k -x --env-vars",
    "salloc": "-F --bb --bbf --container --cpu-freq --gid --gpu-freq --reboot --tmp --uid",
    "sbatch": "-F --bb --bbf --container --cpu-freq --export-file --gid --gpu-freq --reboot --tmp",
    "scancel": "-i",
    "scontrol": "-u",
    "srun": "-E -Z --bb --bbf --bcast --bcast-exclude --container --cpu-freq --epilog "
    "--gpu-freq --het-group --prolog --reboot "
    "--resv-ports --send-libs --task-epilog --task-prolog --tmp",
}
_CLIENT = Client(user="root", uid=0, gid=0, host="h", work_dir="/", environment={}, umask=0o22, rlimits={})


def _said(command: str, words: list[str]) -> str:
    """Give what is said of a command line; empty: it is taken."""
    try:
        if command == "sbatch":
            line = read_command_line(words, 0, lambda _: 0)
            read_submission(line, "#!/bin/sh\n", _CLIENT, 0, lambda _: 0)
        elif command == "srun":
            read_srun(words, {}, within=False)
        elif command == "salloc":
            read_salloc(words, {})
        elif command == "scancel":
            parse_scancel(words, {}, "root")
        else:
            return run([command, *words], {}, rig()).err
    except OptionError as error:
        return " ".join(refusal(command, error).lines)
    except (UsageError, ValueError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("command", sorted({one[0] for one in _OPTIONS}))
def test_every_option_is_carried_out_or_refused_by_name(command: str) -> None:
    refused = set()
    for _, *names in (one for one in _OPTIONS if one[0] == command):
        value = ["1"] if names[-1] != "?" else []
        for name in (one for one in names if one not in {"=", "?"}):
            said = _said(command, [name, *value])
            for unknown in ("unrecognized option", "invalid option", "ambiguous", "no option that rota knows"):
                assert unknown not in said, (name, said)
            if "not supported by rota" in said:
                refused.add(names[0])
    assert refused == set(_REFUSED.get(command, "").split())
