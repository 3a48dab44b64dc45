"""Engines of IPython Parallel as tasks of a job."""

from __future__ import annotations

import ipyparallel


def where() -> tuple[str, str]:
    """Tell job and task."""
    import os

    return os.environ["SLURM_JOB_ID"], os.environ["SLURM_PROCID"]


def main() -> None:
    """Start engines, compute, and stop them."""
    cluster = ipyparallel.Cluster(engines="slurm", n=3)
    client = cluster.start_and_connect_sync(activate=False)
    view = client[:]
    print(sorted(view.apply_sync(where)))
    print(view.map_sync(lambda x: x * x, range(5)))
    client.close()
    cluster.stop_cluster_sync()


if __name__ == "__main__":
    main()
