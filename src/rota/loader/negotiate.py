"""The common API version of rota and a plugin, and the choice among plugins of one type. No I/O.

Source: the Slurm Plugin API (July 2004), "Versioning".

* rota supports a set of API majors (`PluginApi.api_majors`), the plugin those from the major of ``plugin_legacy`` to
  the major of ``plugin_version``. ``plugin_legacy`` is by default ``plugin_version`` rounded down to a thousand; only
  its major counts. The highest common major is used; if there is none, the plugin is rejected.
* Of several plugins of one type, the one with the highest common major is used, then the highest minor revision, then
  the first in search order.
* ``plugin_release``, if given, must be exactly this release of rota.
* A scheduler plugin may leave out ``plugin_version``, as in the 2019 document: it is 0 then, with a warning. A
  job-metadata plugin may leave out all identity symbols.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from rota.loader.candidate import PluginRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rota.interfaces import PluginApi
    from rota.loader.candidate import Candidate
    from rota.loader.identity import Identity


class State(StrEnum):
    """State of a candidate."""

    CHOSEN = "chosen"
    #: Usable, but another candidate of its type is preferred.
    LOST = "lost"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Terms:
    """The result of a negotiation."""

    #: The common API major; ``None`` if there are problems.
    spoken: int | None = None
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A candidate, its state, and the reason."""

    candidate: Candidate
    state: State
    #: The reason, one sentence.
    why: str
    #: The common API major; ``None`` if it is rejected.
    spoken: int | None = None
    #: Why it is rejected; empty if it is not.
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """The candidates of one type, in search order."""

    plugin_type: str
    verdicts: tuple[Verdict, ...]

    @property
    def chosen(self) -> Verdict | None:
        """The candidate to use; ``None`` if all are rejected."""
        return next((verdict for verdict in self.verdicts if verdict.state is State.CHOSEN), None)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What an administrator should know although a plugin was chosen.

        Warnings about the chosen one, every rejected candidate, and every candidate that comes first in search order
        and is not
        chosen: whoever put it there expects it to be used.
        """
        chosen = self.chosen
        if chosen is None:
            return ()
        passed_over = (one for one in self.verdicts if one.state is State.REJECTED or _precedes(one, chosen))
        told = [f"plugin {self.plugin_type}: {text}" for text in chosen.warnings]
        told += [f"plugin {self.plugin_type} ({one.candidate.where}) is passed over: {one.why}" for one in passed_over]
        return tuple(told)

    def require(self) -> Verdict:
        """Give the chosen candidate.

        Raises:
            PluginRefusedError: all candidates are rejected; the message has all reasons.
        """
        chosen = self.chosen
        if chosen is not None:
            return chosen
        first, *others = self.verdicts
        problems = list(first.problems)
        problems += [f"and {one.candidate.where}: {problem}" for one in others for problem in one.problems]
        raise PluginRefusedError(first.candidate, problems)


def version_range(identity: Identity) -> tuple[int, int]:
    """Give the lowest and highest API major that a plugin supports; the range may be empty by mistake."""
    version = identity.plugin_version or 0
    legacy = version if identity.plugin_legacy is None else identity.plugin_legacy
    return legacy // 1000, version // 1000


def format_range(low: int, high: int) -> str:
    """Format a range of API majors."""
    return str(low) if low == high else f"{low} to {high}"


def negotiate(identity: Identity, apis: Mapping[str, PluginApi], release: str) -> Terms:
    """Determine the common API major of rota and a plugin.

    Args:
        identity: The plugin's identity symbols.
        apis: The supported APIs by major type.
        release: The release of rota.

    Returns:
        The common API major, or the problems.
    """
    major = identity.plugin_type.partition("/")[0]
    api = apis.get(major)
    if api is None:
        return Terms(problems=(f"there is no API {major!r}: this rota has {', '.join(sorted(apis))}",))
    problems: list[str] = []
    warnings: list[str] = []
    missing = identity.plugin_version is None and not api.identity_optional
    if missing and api.version_optional:
        warnings.append("plugin_version is missing and counts as 0")
    elif missing:
        problems.append("plugin_version is missing: expected API major * 1000 + minor revision")
    if identity.plugin_release is not None and identity.plugin_release != release:
        problems.append(f"it is built for rota {identity.plugin_release} only, and this is rota {release}")
    low, high = version_range(identity)
    spoken = max((one for one in api.api_majors if low <= one <= high), default=None)
    if low > high:
        problems.append(
            f"plugin_legacy {identity.plugin_legacy} (API {low}) is above "
            f"plugin_version {identity.plugin_version or 0} (API {high})"
        )
    elif spoken is None:
        host = ", ".join(map(str, sorted(api.api_majors)))
        problems.append(f"no API version in common: the plugin speaks {format_range(low, high)}, this rota {host}")
    return Terms(None if problems else spoken, tuple(problems), tuple(warnings))


def decide(candidates: Iterable[Candidate], apis: Mapping[str, PluginApi], release: str) -> tuple[Verdict, ...]:
    """Choose among candidates of one type.

    Returns:
        The state of each candidate, in search order.
    """
    terms = [(one, _terms(one, apis, release)) for one in sorted(candidates, key=lambda one: one.order)]
    usable = [(one, agreed.spoken) for one, agreed in terms if agreed.spoken is not None]
    best = max(usable, key=lambda pair: (*_merit(*pair), -pair[0].order), default=None)
    return tuple(_verdict(one, agreed, best, alone=len(usable) == 1) for one, agreed in terms)


def _terms(candidate: Candidate, apis: Mapping[str, PluginApi], release: str) -> Terms:
    if candidate.problems or candidate.identity is None:
        return Terms(problems=candidate.problems)
    return negotiate(candidate.identity, apis, release)


def _merit(candidate: Candidate, spoken: int) -> tuple[int, int]:
    return spoken, candidate.identity.minor_revision if candidate.identity else 0


def _verdict(candidate: Candidate, terms: Terms, best: tuple[Candidate, int] | None, *, alone: bool) -> Verdict:
    if terms.spoken is None or best is None:
        why = "; ".join(terms.problems)
        return Verdict(candidate=candidate, state=State.REJECTED, why=why, problems=terms.problems)
    if candidate is best[0]:
        state, why = (
            State.CHOSEN,
            "the only usable one" if alone else "the best by API version, minor revision, search order",
        )
    else:
        state, why = State.LOST, _why_lost(_merit(candidate, terms.spoken), _merit(*best), best[0].where)
    return Verdict(candidate=candidate, state=state, why=why, spoken=terms.spoken, warnings=terms.warnings)


def _why_lost(own: tuple[int, int], best: tuple[int, int], winner: str) -> str:
    if own[0] < best[0]:
        return f"speaks API {own[0]}, {winner} speaks {best[0]}"
    if own[1] < best[1]:
        return f"minor revision {own[1]}, {winner} has {best[1]}"
    return f"comes after {winner} in search order"


def _precedes(verdict: Verdict, chosen: Verdict) -> bool:
    return verdict.state is State.LOST and verdict.candidate.order < chosen.candidate.order
