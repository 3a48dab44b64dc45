"""The arguments of the runs of a sweep: those that all have, and a point's values in their places.

The names of a file of a sweep, and of its axes, are those of the command's options, without dashes; values are read as
the command line reads them, so that there is one syntax for each.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rota.config.options import did_you_mean
from rota.model import InputError
from rota.replays.scenario import Scenario
from rota.sweep.runs import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rota.sweep.axes import Axis
    from rota.sweep.search import Point
    from rota.sweep.spec import Spec

#: Axes of more values are checked at both ends only, before the sweep begins.
_ALL_CHECKED = 20
#: Options that are written otherwise as axes: by what stands before the value.
_SETTINGS = {"qos": "qos_settings", "assoc": "assoc_settings"}


class Words:
    """Reads arguments of the command from elsewhere.

    Args:
        command: The command, of which some parameters are those of a replay.
    """

    def __init__(self, command: click.Command) -> None:
        self._params = {name(param): param for param in command.params}

    def of_file(self, spec: Spec) -> dict[str, Any]:
        """Give the arguments that a file names.

        Raises:
            InputError: there is no such option, or it cannot have this value.
        """
        found = {}
        for key, value in spec.options.items():
            param = self._params.get(key)
            if param is None or param.name is None:
                raise spec.error(f"no option of a sweep{did_you_mean(key, self._params)}", key)
            try:
                found[param.name] = _cast(param, value)
            except click.BadParameter as error:
                raise spec.error(error.message, key) from None
        return found

    def of_run(self, base: Mapping[str, Any], run: Run) -> dict[str, Any]:
        """Give the arguments of a run.

        Args:
            base: What all runs have in common.
            run: The run.

        Raises:
            InputError: an option cannot have such a value.
        """
        words = dict(base)
        for axis, value in run.point.items():
            kind, _, rest = axis.partition(" ")
            if (param := self._params.get(axis)) is not None and param.name in base:
                try:
                    words[param.name] = _cast(param, value)
                except click.BadParameter as error:
                    raise InputError(error.message, field=axis) from None
            elif kind in _SETTINGS:
                who, _, key = rest.rpartition(" ")
                if not who:
                    raise InputError(f"write {kind} NAME KEY", field=axis)
                words[_SETTINGS[kind]] += ((who, f"{key}={value}"),)
            else:
                words["settings"] += (f"{axis}={value}",)
        words["part"] *= run.part
        return words


def name(param: click.Parameter) -> str:
    """Name a parameter as files and axes do: its long option without dashes, or the argument."""
    return max(param.opts, key=len).removeprefix("--")


def _cast(param: click.Parameter, value: object) -> Any:
    """Convert a value as the command line does.

    Raises:
        click.BadParameter: it cannot be.
    """
    if isinstance(param, click.Option) and param.is_flag:
        return click.BOOL.convert(value, param, None)
    text = _as_text(value)
    if param.multiple:
        text = text if isinstance(text, tuple) else (text,)
    elif isinstance(text, tuple):
        raise click.BadParameter("takes one value; to have several, vary it")
    return param.type_cast_value(click.Context(click.Command("sweep")), text)


def _as_text(value: object) -> Any:
    return tuple(map(_as_text, value)) if isinstance(value, list) else str(value)


def check(
    axes: Sequence[Axis], read: Callable[[Run], Scenario], blame: Callable[[InputError, Axis], InputError]
) -> list[Scenario]:
    """Read what some runs are of, so that a wrong value is told before the sweep begins; give it.

    Args:
        axes: The axes, each of whose values is tried with the first ones of those before it.
        read: Reads it.
        blame: Makes an error about an axis.

    Raises:
        InputError: a value cannot be used.
    """
    point: Point = {}
    scenarios = [read(Run(point))]
    for axis in axes:
        for value in axis.values if len(axis.values) <= _ALL_CHECKED else axis.values[:: len(axis.values) - 1]:
            try:
                scenarios.append(read(Run({**point, axis.name: value})))
            except InputError as error:
                raise blame(error, axis) from None
        point[axis.name] = axis.values[0]
    return scenarios


def fingerprint(base: Mapping[str, Any], scenarios: Iterable[Scenario]) -> str:
    """Name what all runs have in common: arguments, and the contents of the files, plugins included."""
    options = [one.options for one in scenarios]
    files = {(file.path, file.sha256) for one in options for file in one.provenance.files}
    folders = {Path(folder) for one in options for folder in one.plugin_dir}
    plugins = {(str(path), sha256(path.read_bytes()).hexdigest()) for one in folders for path in one.glob("*.py")}
    told = [sorted((key, str(value)) for key, value in base.items()), sorted(files), sorted(plugins)]
    return sha256(json.dumps(told).encode()).hexdigest()


def read_run(run: Run, report: Callable[[str], object], *, words: Words, base: Mapping[str, Any]) -> Scenario:
    """Read what a run is of: see `rota.sweep.runs.carry_out`."""
    return Scenario.from_files(**words.of_run(base, run), report=report)
