"""Running a plugin as a new module, and checking it.

Every load runs a new copy, so that engines in one process share none of the plugin's globals. The bytes that were read
during discovery are run; no bytecode is read or written. Until it is unloaded, the copy is in ``sys.modules`` under a
unique name, where dataclasses and pickling look for it.

The copy of an entry point's module belongs to the original's package: relative imports work, and the package is
imported first, as for any import. Other modules of the package are shared; only if the plugin is itself a package are
its submodules copied as well.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from itertools import count
from typing import TYPE_CHECKING, Any

from rota.interfaces import APIS
from rota.interrupts import raise_if_interrupted
from rota.loader.candidate import PluginRefusedError, Source
from rota.loader.identity import IDENTITY
from rota.loader.loaded import LoadedPlugin, blame, forget
from rota.loader.symbols import check_symbols

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import CodeType, ModuleType

    from rota.interfaces import PluginApi
    from rota.loader.candidate import Candidate

#: Numbers of the copies, for unique names.
_serial = count(1)


def load(candidate: Candidate, spoken: int, apis: Mapping[str, PluginApi] = APIS) -> LoadedPlugin:
    """Run a plugin and check that it has what its API documents. ``init`` is not called.

    Args:
        candidate: A candidate without problems.
        spoken: The common API major (`rota.loader.negotiate`).
        apis: The supported APIs by major type.

    Raises:
        PluginRefusedError: the plugin cannot be used; the message has every problem.
    """
    if candidate.problems:
        raise PluginRefusedError(candidate, candidate.problems)
    api = apis.get(candidate.plugin_type.partition("/")[0])
    if api is None:
        raise PluginRefusedError(candidate, ["this rota has no such API"])
    name = _unique_name(candidate)
    try:
        return _checked(candidate, api, name, spoken)
    except BaseException:  # also if it is interrupted
        forget(name)
        raise


def _checked(candidate: Candidate, api: PluginApi, name: str, spoken: int) -> LoadedPlugin:
    module = _execute(candidate, name)
    container = _container(candidate, module)
    functions, problems = check_symbols(container, api)
    problems = _identity_problems(candidate, api, container, module) + problems
    if problems:
        raise PluginRefusedError(candidate, problems)
    return LoadedPlugin(candidate, container, functions, spoken_major=spoken, module_name=name)


class _LookedAt(SourceFileLoader):
    """Loads the bytes that were read during discovery, whatever the file contains by now."""

    def __init__(self, name: str, candidate: Candidate) -> None:
        super().__init__(name, candidate.file)
        self._bytes = candidate.code

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        return _compiled(self._bytes, self.path)


@lru_cache(maxsize=64)
def _compiled(source: bytes, path: str) -> CodeType:
    """Compile a file, once for all engines of a process: each runs the code anew."""
    code: CodeType = compile(source, path, "exec", dont_inherit=True)
    return code


def _unique_name(candidate: Candidate) -> str:
    own = f"rota_plugin_{next(_serial)}_{candidate.plugin_type.replace('/', '_')}"
    package = "" if _is_package(candidate) else candidate.module.rpartition(".")[0]
    return f"{package}.{own}" if package else own


def _is_package(candidate: Candidate) -> bool:
    return candidate.source is Source.ENTRY_POINT and candidate.path is not None and candidate.path.stem == "__init__"


def _execute(candidate: Candidate, name: str) -> ModuleType:
    locations = [str(candidate.path.parent)] if candidate.path and _is_package(candidate) else None
    loader = _LookedAt(name, candidate)
    spec = spec_from_file_location(name, candidate.file, loader=loader, submodule_search_locations=locations)
    if spec is None:
        raise PluginRefusedError(candidate, ["it cannot be loaded"])
    try:
        if spec.parent and spec.parent != name:
            import_module(spec.parent)
        module = module_from_spec(spec)
        sys.modules[name] = module
        loader.exec_module(module)
    except BaseException as exc:
        raise_if_interrupted()
        raise PluginRefusedError(candidate, [f"loading it raised {blame(exc, candidate)}"]) from exc
    return module


def _container(candidate: Candidate, module: ModuleType) -> object:
    """Get the object of an entry point. A class is called, so that every load has an instance of its own."""
    container: Any = module
    try:
        for part in filter(None, candidate.attr.split(".")):
            container = getattr(container, part)
        return container() if isinstance(container, type) else container
    except BaseException as exc:
        raise_if_interrupted()
        raise PluginRefusedError(candidate, [f"{candidate.attr}: {blame(exc, candidate)}"]) from exc


def _identity_problems(candidate: Candidate, api: PluginApi, container: object, module: ModuleType) -> list[str]:
    """Compare the identity symbols at run time with those in the source."""
    problems = []
    for symbol in IDENTITY:
        looked = getattr(candidate.identity, symbol)
        try:
            value = getattr(container, symbol, getattr(module, symbol, None))
        except BaseException as exc:  # noqa: BLE001  (an object may compute its attributes)
            raise_if_interrupted()
            problems.append(f"{symbol} cannot be read: {blame(exc, candidate)}")
            continue
        if value is None and api.identity_optional:
            continue
        if type(value) is not type(looked) or value != looked:
            problems.append(f"{symbol} is {value!r} once it runs, but its source says {looked!r}")
    return problems
