"""Compare rota with a real Slurm in random scenarios: ``python -m slurm --seconds 600 --seed 1``.

It prints a table and, of each sort of difference, a scenario that is as small as it could be made. With ``--found``
these are written to a file in the format of tests/core/data/real_slurm; what is added to a file there is a test.
``--again`` needs no Slurm: scenarios are compared that were recorded before. ``--shrink NAME …`` plays some of those
beside a Slurm, and makes what differs smaller.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .play import HEAD
from .recorded import FILE, again, drawn, read, write, write_known
from .run import MANY, Run, table


def main() -> None:
    """Compare."""
    parser = argparse.ArgumentParser(prog="python -m slurm", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--seconds", type=int, default=600, help="for how long scenarios are drawn")
    parser.add_argument("--seed", type=int, default=1, help="the same number draws the same scenarios")
    parser.add_argument("--many", type=int, default=MANY, help="no more than so many scenarios of the seed")
    parser.add_argument("--kind", default="", help="draw one kind of machine only")
    parser.add_argument("--at-once", type=int, default=2, help="how many Slurms run at once")
    parser.add_argument("--tries", type=int, default=30, help="how often a difference is tried to be made smaller")
    parser.add_argument("--found", type=Path, help="file for the scenarios that differ")
    parser.add_argument("--keep", type=Path, help="folder in which each scenario is kept with Slurm's answers")
    parser.add_argument(
        "--again", type=Path, nargs="?", const=FILE, help="only compare with the answers of this folder, or of all"
    )
    parser.add_argument("--bundle", type=Path, help="add the scenarios of this folder to all that are recorded")
    parser.add_argument("--write", action="store_true", help="with --again: write which scenarios differ")
    parser.add_argument(
        "--shrink", nargs="+", help="make these recorded scenarios smaller, with --again those of a file"
    )
    options = parser.parse_args()
    if options.bundle:
        write({**(read() if FILE.exists() else {}), **read(options.bundle)})
        return
    if options.keep:
        options.keep.mkdir(exist_ok=True)
    if options.shrink:
        scenarios = read(options.again or FILE)
        run = Run(tries=options.tries, keep=options.keep)
        run.shrink([drawn(scenarios[name]) for name in options.shrink], sys.stderr)
        tell(run, options.found)
        return
    if options.again:
        results = again(read(options.again))
        sys.stdout.write(table(results))
        sys.stdout.writelines(f"{one.name} {one.what}\n" for one in results if one.sort)
        if options.write:
            write_known(results)
        return
    run = Run(options.seed, options.kind, options.tries, options.keep)
    run.all(options.seconds, options.at_once, sys.stderr, many=options.many)
    tell(run, options.found)


def tell(run: Run, file: Path | None) -> None:
    """Print what came of it, and write to a file what differs."""
    sys.stdout.write(table(run.results))
    for found in run.found:
        sys.stdout.write(f"\n{found.said}\n{found.text}")
    if file:
        file.write_text(HEAD + "\n".join(found.text for found in run.found), encoding="utf-8")


if __name__ == "__main__":
    main()
