"""``python -m recovery``: damage a state in many ways, and see that each is mended or told. See `make damages`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from random import Random

from recovery.damages import damage
from recovery.scene import Scene, seeds


def main() -> int:
    """Damage and judge."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--damages", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="damages") as folder, Scene(Path(folder)) as scene:
        for seed, how in seeds(wanted.seed, wanted.damages):
            state = scene.copy(how)
            what = damage(state, scene.older, Random(seed))  # noqa: S311 - the same damages each time
            try:
                verdict = scene.judge(state, how)
            except Exception:  # noqa: BLE001 - whatever it is
                verdict = "FAILED"
                traceback.print_exc()
            found[verdict] += 1
            sys.stdout.write(f"{seed} {how}: {what}: {verdict}\n")
            sys.stdout.flush()
    sys.stdout.write(", ".join(f"{count} {verdict}" for verdict, count in sorted(found.items())) + "\n")
    return int("FAILED" in found)


if __name__ == "__main__":
    sys.exit(main())
