"""Kill a live cluster's daemons at random moments: ``python -m kills --kills 1000 --seed 7``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import mkdtemp

from .play import KINDS, USERS, WITHOUT_STEPS, play


def main() -> int:
    """Play, and print what came of it; 1: something was found."""
    parser = argparse.ArgumentParser(prog="python -m kills", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--kills", type=int, default=60, help="how often somebody is killed")
    parser.add_argument("--seed", type=int, default=1, help="the same number draws the same commands and kills")
    parser.add_argument("--users", type=int, default=USERS, help="how many give commands at once")
    parser.add_argument("--kinds", nargs="+", choices=[*KINDS], help="only commands of these kinds")
    parser.add_argument("--folder", type=Path, help="where the logs are kept; a new one below the temporary folder")
    parser.add_argument("--full-disk", action="store_true", help="have no room on the disk at times; needs root")
    options = parser.parse_args()
    names = options.kinds or (WITHOUT_STEPS if options.full_disk else KINDS)
    folder = options.folder or Path(mkdtemp(prefix="rota-kills-"))
    folder.mkdir(exist_ok=True)
    kinds = {kind: KINDS[kind] for kind in names}
    played = play(folder.absolute(), options.seed, options.kills, kinds, options.users, full_disk=options.full_disk)
    sys.stdout.write(f"{played}\n")
    return bool(played.findings)


if __name__ == "__main__":
    sys.exit(main())
