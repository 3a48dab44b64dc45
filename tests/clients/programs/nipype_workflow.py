"""A workflow of nipype whose nodes are jobs."""

from __future__ import annotations

from pathlib import Path

from nipype import Function, MapNode, Node, Workflow


def square(x):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201 - nipype takes its source
    """Square a number, in a job."""
    import os

    assert os.environ["SLURM_JOB_ID"]
    return x * x


def total(xs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Add numbers."""
    from pathlib import Path

    (Path.home() / "total").write_text(str(sum(xs)))
    return sum(xs)


def main() -> None:
    """Run it."""
    squares = MapNode(Function(["x"], ["out"], square), iterfield=["x"], name="square")
    squares.inputs.x = [1, 2, 3]
    flow = Workflow("flow", base_dir=str(Path.cwd()))
    flow.connect(squares, "out", Node(Function(["xs"], ["out"], total), name="total"), "xs")
    flow.run(plugin="SLURM", plugin_args={"sbatch_args": "--mem=400 -t 5"})


if __name__ == "__main__":
    main()
