"""The examples for CI: their steps, run as GitHub and GitLab run them, bring up four nodes for those that follow."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

_PROJECT = Path(__file__).parents[1]
_EXAMPLES = _PROJECT / "examples" / "ci"
#: What a user's next step does.
_NEXT = "sinfo -h -N -o '%N %t'; sbatch --wait -N4 -o out --wrap 'srun -l hostname'; sort out | cut -d: -f1"
_NODES = ["n1 idle", "n2 idle", "n3 idle", "n4 idle"]
_HOW = ["as-installed", "from-PyPI"]


def _environment(**more: str) -> dict[str, str]:
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "SBATCH", "ROTA_"))}
    return {**outer, "PATH": f"{Path(sys.executable).parent}:{outer['PATH']}", **more}


def _bash(script: str, folder: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _prepare(where: Path, *, installs: bool) -> str:
    """Give what is to be installed: this checkout with all it needs, or what pip finds there already."""
    if installs:
        return str(_PROJECT)
    venv.create(where, with_pip=True)
    (packages,) = where.glob("lib/python*/site-packages")
    (packages / "here.pth").write_text("\n".join([str(_PROJECT / "src"), *site.getsitepackages()]))
    return "rota"


def _github(action: Mapping[str, Any], folder: Path, temporary: Path, **given: str) -> dict[str, str]:
    """Run the steps of a composite action; give the environment of the steps that follow."""
    inputs = {name: one["default"] for name, one in action["inputs"].items()} | given
    environment = _environment(RUNNER_TEMP=str(temporary))
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash"
        files = {name: temporary / name for name in ("GITHUB_ENV", "GITHUB_PATH")}
        for path in files.values():
            path.write_text("")
        own = {}
        for name, value in step.get("env", {}).items():
            own[name] = value
            for key, text in inputs.items():
                own[name] = own[name].replace(f"${{{{ inputs.{key} }}}}", text)
        _bash(step["run"], folder, {**environment, **own, **{name: str(path) for name, path in files.items()}})
        environment |= dict(line.split("=", 1) for line in files["GITHUB_ENV"].read_text().splitlines())
        for line in files["GITHUB_PATH"].read_text().splitlines():
            environment["PATH"] = f"{line}:{environment['PATH']}"
    return environment


@pytest.mark.slow
@pytest.mark.parametrize("installs", [False, pytest.param(True, marks=pytest.mark.longest)], ids=_HOW)
def test_github(tmp_path: Path, installs: bool) -> None:
    folder, temporary = tmp_path / "checkout", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    package = _prepare(temporary / "rota", installs=installs)
    environment = _github(yaml.safe_load((_EXAMPLES / "action.yml").read_text()), folder, temporary, package=package)
    try:
        lines = _bash(_NEXT, folder, environment).splitlines()
        assert lines[:4] == _NODES
        assert lines[-4:] == ["0", "1", "2", "3"]
    finally:
        _bash("rota-call down cancel", folder, environment)
    assert [path.name for path in folder.iterdir()] == ["out"]  # nothing else is in the user's checkout


@pytest.mark.slow
@pytest.mark.parametrize("installs", [False, pytest.param(True, marks=pytest.mark.longest)], ids=_HOW)
def test_gitlab(tmp_path: Path, installs: bool) -> None:
    job = yaml.safe_load((_EXAMPLES / "gitlab-ci.yml").read_text())[".slurm"]
    package = _prepare(tmp_path / ".rota", installs=installs)
    environment = _environment(CI_PROJECT_DIR=str(tmp_path), **job["variables"]) | {"ROTA_PACKAGE": package}
    # GitLab runs the lines before those of the job, in one shell.
    try:
        lines = _bash("\n".join([*job["before_script"], _NEXT]), tmp_path, environment).splitlines()
    finally:  # which GitLab runs in a shell of its own, whatever has failed
        _bash("\n".join(job["after_script"]), tmp_path, environment)
    assert "Unable to contact" in _bash("PATH=.rota/slurm/bin; squeue 2>&1 || true", tmp_path, environment)
    assert [line for line in lines if line in _NODES] == _NODES
    assert lines[-4:] == ["0", "1", "2", "3"]


_TEST = """
import subprocess

def test_a_tool(rota_cluster):
    subprocess.run(["sbatch", "--wait", "-N4", "--wrap", "true"], check=True)
    assert rota_cluster.records()[-1]["state"] == "COMPLETED"

def test_the_same_cluster(rota_cluster):
    assert len(rota_cluster.records()) == 1
    assert rota_cluster.run("sinfo", "-h", "-o", "%D").stdout == "4\\n"
"""


def test_the_fixture_of_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_tool.py").write_text(_TEST)
    words = ["-m", "pytest", "-q", "--basetemp", str(tmp_path / "t")]
    done = subprocess.run(
        [sys.executable, *words], check=False, capture_output=True, text=True, cwd=tmp_path, env=_environment()
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
