"""Candidates as JSON data. Keys may be added; existing ones keep their meaning.

A *candidate* has:

================== ============================================================================================
``type``           ``major/minor``, from the name of the file or entry point
``name``           ``plugin_name``; this and the next three are null where unknown or not given
``version``        ``plugin_version``
``legacy``         ``plugin_legacy``
``release``        ``plugin_release``
``api_range``      lowest and highest API major that it supports, null if unknown
``api_host``       API majors that this rota supports for the type, sorted
``spoken``         the common API major, null if it is rejected
``state``          ``chosen``, ``lost`` or ``rejected``
``why``            the reason for the state, one sentence
``problems``       why it is rejected, one sentence each
``warnings``       warnings about it
``source``         ``plugin-dir``, ``entry-point`` or ``built-in``
``where``          the file, or the entry point as it is declared
``file``           the source file, null if an entry point does not lead to one
``summary``        first line of its docstring
================== ============================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rota.loader.negotiate import version_range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.interfaces import PluginApi
    from rota.loader.candidate import Candidate
    from rota.loader.negotiate import Verdict


def describe(verdict: Verdict, apis: Mapping[str, PluginApi]) -> dict[str, Any]:
    """Describe a candidate and its state, with the keys above."""
    candidate, identity = verdict.candidate, verdict.candidate.identity
    api = apis.get(candidate.plugin_type.partition("/")[0])
    return {
        "type": candidate.plugin_type,
        "name": identity.plugin_name if identity else None,
        "version": identity.plugin_version if identity else None,
        "legacy": identity.plugin_legacy if identity else None,
        "release": identity.plugin_release if identity else None,
        "api_range": list(version_range(identity)) if identity else None,
        "api_host": sorted(api.api_majors) if api else [],
        "spoken": verdict.spoken,
        "state": verdict.state.value,
        "why": verdict.why,
        "problems": list(verdict.problems),
        "warnings": list(verdict.warnings),
        "source": candidate.source.value,
        "where": candidate.where,
        "file": None if candidate.path is None else str(candidate.path),
        "summary": candidate.summary,
    }


def describe_functions(candidate: Candidate, api: PluginApi) -> list[dict[str, Any]]:
    """List the documented functions of a candidate's API.

    Returns:
        For each its ``name``, its ``signature`` as documented, whether it is ``optional``, and ``in_source``: whether
        the plugin's own file defines it. If not, a ``*`` import may still define it, which is known only after loading.
    """
    return [
        {
            "name": one.name,
            "signature": str(one),
            "optional": one.optional,
            "in_source": one.name in candidate.defines,
        }
        for one in api.symbols
    ]
