"""Finding plugins, and reading their sources without running them.

Search order:

1. the directories of ``PluginDir``, left to right: files named ``<major>_<minor>.py``, and ``<minor>.py`` in a folder
   ``<major>``;
2. entry points in the group ``rota.plugins``, by distribution: ``"sched/sjf" = "my_pkg.sjf"``, or
   ``"my_pkg.sjf:object"``;
3. the built-in plugins: files ``<major>/<minor>.py``.

The order decides only among plugins with the same common API version and the same minor revision
(`rota.loader.negotiate`). When one type is asked for, only files and entry points of its name are read.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import rota
from rota.interfaces import APIS
from rota.loader.candidate import Candidate, Source
from rota.loader.entry_points import locate, plugin_entry_points
from rota.loader.identity import SourceInfo, read_source, type_problem
from rota.loader.trust import file_problems
from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

    from rota.loader.entry_points import PluginEntryPoint

    PluginDir = str | Iterable[str | PathLike[str]] | None

#: The directory of the built-in plugins, which are found as files like all others.
BUILT_IN = Path(rota.__file__).parent / "plugins"


@dataclass(frozen=True, slots=True)
class SearchPath:
    """Where plugins are looked for."""

    directories: tuple[Path, ...] = ()
    entry_points: bool = True
    built_in: Path | None = BUILT_IN

    @classmethod
    def of(cls, plugin_dir: PluginDir = None, *, entry_points: bool = True) -> SearchPath:
        """Make a search path from a ``PluginDir`` as in slurm.conf, colon-separated, or from a list of directories."""
        parts = plugin_dir.split(":") if isinstance(plugin_dir, str) else plugin_dir or ()
        return cls(tuple(dict.fromkeys(Path(part) for part in parts if part)), entry_points)

    def __str__(self) -> str:
        places = [str(directory) for directory in self.directories]
        places += ["the entry points"] if self.entry_points else []
        return ", ".join([*places, "the built-in plugins"])


def discover(search: SearchPath, wanted: str | None = None, *, major: str = "") -> list[Candidate]:
    """Find plugins.

    Args:
        search: Where to read_source.
        wanted: The plugin type; ``None``: all types.
        major: The API to whose types they belong; empty: any.

    Returns:
        The candidates in search order. Those that cannot be used have problems.

    Raises:
        InputError: a directory of ``PluginDir`` is missing or unreadable.
    """
    found: list[Candidate] = []
    for directory in search.directories:
        found += _in_directory(directory, wanted)
    if search.entry_points:
        declared = [one for one in plugin_entry_points() if wanted in {None, one.name}]
        found += [_at_entry_point(one) for one in declared if one.name.startswith(major)]
    if search.built_in:
        found += _built_in(search.built_in, wanted, major)
    found = [one for one in found if not major or one.plugin_type.startswith(f"{major}/")]
    return [replace(one, order=order) for order, one in enumerate(found)]


def candidate_from_file(path: Path) -> Candidate:
    """Read one file, with the rules for names and permissions that apply in ``PluginDir``.

    Raises:
        InputError: the file does not exist.
    """
    if not path.is_file():
        raise InputError("not a regular file" if path.exists() else "no such file", path=path)
    major = path.absolute().parent.name
    return _from_file(path, nested=major in APIS and not path.name.startswith(f"{major}_"))


def _in_directory(directory: Path, wanted: str | None) -> list[Candidate]:
    try:
        files = sorted(directory.iterdir())
        for folder in [file for file in files if file.name in APIS and file.is_dir()]:
            files += sorted(folder.iterdir())
    except OSError as exc:
        raise InputError(exc.strerror or str(exc), path=directory, field="PluginDir") from exc
    if wanted is not None:
        places = {directory / f"{_stem(wanted)}.py", directory / f"{wanted}.py"}
        found = [_from_file(file, wanted, nested=file.parent != directory) for file in files if file in places]
        return [one for one in found if one.plugin_type == wanted]
    found = [_from_file(file, nested=file.parent != directory) for file in files if _may_be_plugin(file, directory)]
    return [one for one in found if _is_plugin(one)]


def _may_be_plugin(file: Path, directory: Path) -> bool:
    named = "_" in file.name or file.parent != directory
    return file.suffix == ".py" and named and not file.name.startswith(("_", "."))


def _is_plugin(candidate: Candidate) -> bool:
    """Whether a file is a plugin and not another module: by the API in its name, or by its identity symbols."""
    return candidate.plugin_type.partition("/")[0] in APIS or "plugin_type" in candidate.defines


def _stem(plugin_type: str) -> str:
    return plugin_type.replace("/", "_")


def _from_file(path: Path, wanted: str | None = None, *, nested: bool) -> Candidate:
    in_place = f"{path.absolute().parent.name}/{path.stem}" if nested else _type_by_name(path.stem)
    code, problems = _read(path, strict=True)
    seen = read_source(code, assumed=_assumed(in_place)) if code is not None else SourceInfo(problems=problems)
    said = seen.identity.plugin_type if seen.identity else ""
    if said and (said == in_place or (not nested and _stem(said) == path.stem)):
        plugin_type = said
    else:
        plugin_type = wanted or in_place
        if said:
            expected = f"{said}.py" if nested else f"{_stem(said)}.py"
            seen = replace(seen, problems=(f"plugin_type is {said!r}: then the file must be called {expected}",))
    return _candidate(Source.PLUGIN_DIR, plugin_type, (path, code), seen)


def _assumed(plugin_type: str) -> str:
    """Give the type that a file's place gives it, if its source need not say so."""
    api = APIS.get(plugin_type.partition("/")[0])
    return plugin_type if api and api.identity_optional and type_problem(plugin_type) is None else ""


def _type_by_name(stem: str) -> str:
    """Derive the type from the name of a file. Majors that contain ``_`` are recognised by the supported APIs."""
    known = [major for major in APIS if stem.startswith(major + "_")]
    major = max(known, key=len, default=stem.partition("_")[0])
    return f"{major}/{stem[len(major) + 1 :]}"


def _at_entry_point(entry: PluginEntryPoint) -> Candidate:
    path, code = None, None
    try:
        path, _ = locate(entry.module)
        code, problems = _read(path, strict=False)
    except LookupError as exc:
        problems = (str(exc),)
    seen = read_source(code, entry.attr, _assumed(entry.name)) if code is not None else SourceInfo(problems=problems)
    if problem := type_problem(entry.name):
        seen = replace(seen, problems=(f"the entry point's name is wrong: {problem}",))
    elif seen.identity and (said := seen.identity.plugin_type) != entry.name:
        seen = replace(seen, problems=(f"plugin_type is {said!r}: the entry point must be called so too",))
    return _candidate(Source.ENTRY_POINT, entry.name, (path, code), seen, entry)


def _built_in(root: Path, wanted: str | None, major: str) -> Iterator[Candidate]:
    files = [root / f"{wanted}.py"] if wanted else sorted(root.glob(f"{major or '*'}/*.py"))
    for path in files:
        if path.is_file() and not path.name.startswith("_"):
            code = path.read_bytes()
            plugin_type = f"{path.parent.name}/{path.stem}"
            seen = read_source(code, assumed=_assumed(plugin_type))
            if seen.identity and (said := seen.identity.plugin_type) != plugin_type:
                seen = replace(seen, problems=(f"plugin_type is {said!r}: expected {plugin_type!r} in this place",))
            yield _candidate(Source.BUILT_IN, plugin_type, (path, code), seen)


def _read(path: Path, *, strict: bool) -> tuple[bytes | None, tuple[str, ...]]:
    """Read a file if it can be trusted; else ``None`` and the reasons."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # reading a pipe would block
            return None, ("not a regular file",)
        problems = file_problems(path, strict=strict)
        return (None, problems) if problems else (path.read_bytes(), ())
    except OSError as exc:
        return None, (f"unreadable: {exc.strerror or exc}",)


def _candidate(
    source: Source,
    plugin_type: str,
    file: tuple[Path | None, bytes | None],
    seen: SourceInfo,
    entry: PluginEntryPoint | None = None,
) -> Candidate:
    return Candidate(
        source=source,
        plugin_type=plugin_type,
        order=0,  # set by `discover`
        path=file[0],
        declared=str(entry or ""),
        module=entry.module if entry else "",
        attr=entry.attr if entry else "",
        identity=seen.identity,
        problems=seen.problems,
        summary=seen.summary,
        defines=seen.defines,
        code=file[1] or b"",
    )
