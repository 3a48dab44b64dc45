"""A sweep over three values, in the tasks of the job in which this runs."""

from __future__ import annotations

import slurm_sweeps as ss


def train(cfg: dict[str, int]) -> None:
    ss.log({"loss": cfg["x"] ** 2}, 0)


if __name__ == "__main__":
    found = ss.Experiment(train=train, cfg={"x": ss.Grid([1, 2, 3])}, local_dir="sweeps").run(n_trials=3)
    print("losses", sorted(int(one) for one in found["loss"]))
