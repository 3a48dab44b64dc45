"""What several commands have in common: ``--version`` and ``--help``, clusters, lists of names, the time format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.commands.getopt import UsageError
from rota.listings.answer import VERSION, Answer
from rota.listings.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.commands.getopt import Parsed
    from rota.listings.view import View
    from rota.model import ClusterConfig

#: Why options make no difference.
ALONE = "rota has no federation"
HIDDEN = "rota has no hidden partitions"
VERBOSE = "it is for looking for errors in Slurm"


def about(parsed: Parsed, usage: str) -> Answer | None:
    """Answer ``--version``, ``--usage`` and ``--help``; ``None``: none of them is given."""
    if parsed.has("version"):
        return Answer(f"{VERSION}\n")
    return Answer(usage) if parsed.has("usage") or parsed.has("help") else None


def seconds_between(parsed: Parsed, refusal: str) -> int:
    """Give the value of ``--iterate``, seconds; 0: it was not given.

    Args:
        parsed: The command line.
        refusal: What is said of a value that cannot be used, with ``{}`` for it.

    Raises:
        UsageError: it cannot be used.
    """
    text = parsed.last("iterate")
    if text is None:
        return 0
    if not (text.isascii() and text.isdigit() and int(text[:9]) > 0):
        raise UsageError(refusal.format(text))
    return int(text[:9])


def clock_of(view: View, environ: Mapping[str, str]) -> Clock:
    """Make the clock that formats times as the user wants."""
    return Clock(view.now, view.utc_offset, environ.get("SLURM_TIME_FORMAT", ""))


def words_of(text: str | None) -> frozenset[str]:
    """Split a list at its commas."""
    return frozenset(word.strip() for word in (text or "").split(",") if word.strip())


def is_here(name: str, config: ClusterConfig) -> bool:
    """Whether a name after ``-M`` is that of this cluster, or stands for all."""
    return name.strip().lower() in {config.cluster_name.lower(), "all"}


def unknown_cluster(given: str, config: ClusterConfig) -> tuple[str, ...]:
    """Give the lines of an error about the clusters of a list that are not this one; none: there is no other."""
    names = [one.lower() for one in given.split(",") if one and not is_here(one, config)]
    if not names:
        return ()
    advice = "Use 'sacctmgr list clusters' to see available clusters."
    return (
        *(f"error: No cluster '{name}' known by database." for name in names),
        f"error: '{given}' can't be reached now, or it is an invalid entry for --cluster.  {advice}",
    )


def cluster_heading(command: str, parsed: Parsed, view: View) -> str:
    """Check ``-M``; give the line that names the cluster, empty without ``-M`` or a header.

    Raises:
        UsageError: one of the clusters is not this one.
    """
    given = parsed.last("clusters")
    if given is None:
        return ""
    if lines := unknown_cluster(given, view.config):
        raise UsageError("".join(f"{command}: {line}\n" for line in lines))
    return f"CLUSTER: {view.config.cluster_name}\n" if given.strip() and not parsed.has("noheader") else ""
