"""``scontrol show``, ``ping`` and ``version``: the commands of ``scontrol`` that only read.

Those that change something are parsed by `rota.commands.scontrol`, and carried out by whoever has the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.commands.getopt import Parsed, UsageError
from rota.commands.lists import split_list
from rota.commands.scontrol import Other, Scontrol, Show, parse_scontrol
from rota.config.hostlist import fold_again, hosts_in_order
from rota.listings.answer import VERSION, Answer
from rota.listings.assoc_mgr import show_assoc_mgr
from rota.listings.common import clock_of, cluster_heading
from rota.listings.scontrol_choice import choose_jobs, choose_nodes, choose_steps
from rota.listings.scontrol_questions import error_text, list_pids, wait_job
from rota.listings.show_config import ping, show_config
from rota.listings.show_job import show_job
from rota.listings.show_machine import show_license, show_node, show_partition, show_reservation, show_step
from rota.listings.topology import show_topology

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rota.commands.forms import Form
    from rota.listings.clock import Clock
    from rota.listings.view import View
    from rota.model.lines import JobLine

_HELP = """\
scontrol [-adoQV] [-M CLUSTER] [--json | --yaml] COMMAND
  show ENTITY [NAME]    aliases assoc_mgr config daemons hostlist hostnames job license node partition reservation step
  update KEY=VALUE ...  change a job, node, partition or reservation
  hold uhold release requeue requeuehold suspend resume JOBS
  create delete reconfigure ping version
  listpids [JOB[.STEP]]  wait_job JOB  errnumstr NUMBER  write batch_script JOB [FILE | -]
"""


def scontrol(argv: Sequence[str], environ: Mapping[str, str], view: View) -> Answer:
    """Evaluate a command line.

    Args:
        argv: The words after ``scontrol``.
        environ: The user's environment.
        view: The cluster.

    Raises:
        UsageError: the command line is refused.
    """
    asked = parse_scontrol(argv, view.now, view.utc_offset)
    cluster_heading("scontrol", Parsed((("clusters", asked.clusters),) if asked.clusters else (), ()), view)
    if isinstance(asked.request, Other):
        answer = _other(asked.request, view)
    elif isinstance(asked.request, Show):
        answer = _show(asked, asked.request, environ, view)
    else:
        answer = Answer(err="scontrol: error: here nothing can be changed\n", code=1)
    return answer._replace(err="") if asked.quiet else answer


def _other(request: Other, view: View) -> Answer:
    if request.command == "version":
        return Answer(f"{VERSION}\n")
    if request.command == "ping":
        return Answer(ping(view))
    if request.command == "help":
        return Answer(_HELP)
    if request.command == "silent":
        return Answer()
    if request.command == "errnumstr":
        return error_text(request.words[0])
    if request.command == "wait_job":
        return wait_job(request.words[0], view)
    if request.command == "listpids":
        return list_pids(request.words, view)
    if not request.command:
        return Answer(err="scontrol: error: no command is given, and rota's scontrol has no interactive mode\n", code=1)
    return Answer(err="scontrol: error: here nothing can be changed\n", code=1)


def _show(asked: Scontrol, request: Show, environ: Mapping[str, str], view: View) -> Answer:
    if request.entity == "nodes":
        view.privacy.require("nodes", error=" error")
    if request.entity in {"nodes", "partitions"}:
        view.privacy.require("partitions", error=" error")
    if asked.form is not None:
        return _document(request, asked.form, view)
    if request.assoc_mgr is not None:
        return show_assoc_mgr(request.assoc_mgr, view, one_line=asked.one_line)
    shown = _Shown(asked, environ, view)
    found: dict[str, Callable[[str | None], Answer]] = {
        "aliases": lambda host: _aliases(host, view),
        **dict.fromkeys(("bbstat", "burstbuffer", "dwstat"), lambda _: Answer()),
        "frontend": _front_ends,
        "config": lambda _: Answer(show_config(view, shown.clock)),
        "daemons": lambda _: Answer("slurmctld slurmd\n"),
        "federation": lambda _: Answer(),
        "hostlist": shown.hostlist,
        "hostlistsorted": shown.hostlist_sorted,
        "hostnames": shown.hostnames,
        "jobs": shown.jobs,
        "licenses": shown.licenses,
        "nodes": shown.nodes,
        "partitions": shown.partitions,
        "reservations": shown.reservations,
        "steps": shown.steps,
        "topology": lambda name: show_topology(name, view),
    }
    if request.entity not in found:
        raise UsageError(f"scontrol: error: show {request.entity} is not supported by rota\n")
    try:
        return found[request.entity](request.name)
    except UsageError as error:
        if asked.quiet:
            return Answer(code=error.code)
        raise


def _front_ends(name: str | None) -> Answer:
    return Answer(f"Node {name} not found\n", code=1) if name else Answer("No nodes in the system\n")


def _aliases(host: str | None, view: View) -> Answer:
    """Give the names of the nodes of a host, of all if none is given."""
    names = [node.name for node in view.nodes() if host in {None, node.host or node.name}]
    return Answer(" ".join(names) + "\n" if names else "")


def _document(request: Show, form: Form, view: View) -> Answer:
    from rota.listings.openapi.document import text_of
    from rota.listings.openapi.show import show

    found = show(request.entity, request.name, view)
    return Answer(text_of(found, form), code=int(bool(found["errors"])))


class _Shown:
    """What ``scontrol show`` prints of each entity."""

    def __init__(self, asked: Scontrol, environ: Mapping[str, str], view: View) -> None:
        self.clock: Clock = clock_of(view, environ)
        self._view = view
        self._environ = environ
        self._one_line = asked.one_line
        self._detailed = asked.detailed

    # ---- jobs and steps ---------------------------------------------------------------------------------------

    def jobs(self, name: str | None) -> Answer:
        found = choose_jobs(name, self._view)
        if not found and name not in {None, "0"}:
            return Answer(f"Job {name} not found\n", code=1)
        return Answer("".join(map(self._job, found)) or "No jobs in the system\n")

    def _job(self, job: JobLine) -> str:
        return show_job(job, self._view, self.clock, one_line=self._one_line, detailed=self._detailed)

    def steps(self, name: str | None) -> Answer:
        steps = choose_steps(name, self._view)
        text = "".join(show_step(one, self._view, self.clock, one_line=self._one_line) for one in steps)
        return Answer(text or "No job steps in the system\n")

    # ---- the machine ------------------------------------------------------------------------------------------

    def nodes(self, name: str | None) -> Answer:
        nodes, missing = choose_nodes(name, self._view)
        text = "".join(
            show_node(node, self._view, self.clock, one_line=self._one_line, detailed=self._detailed) for node in nodes
        )
        return Answer(text + "".join(f"Node {one} not found\n" for one in missing), code=int(bool(missing)))

    def partitions(self, name: str | None) -> Answer:
        found = [part for part in self._view.partitions() if name in {None, part.name}]
        if not found and name is not None:
            return Answer(f"Partition {name} not found\n", code=1)
        text = "".join(show_partition(part, self._view, one_line=self._one_line) for part in found)
        return Answer(text or "No partitions in the system\n")

    def reservations(self, name: str | None) -> Answer:
        found = [one for one in self._view.reservations() if name in {None, one.name}]
        if not found and name is not None:
            return Answer(f"Reservation {name} not found\n", code=1)
        text = "".join(show_reservation(one, self._view, self.clock, one_line=self._one_line) for one in found)
        return Answer(text or "No reservations in the system\n")

    def licenses(self, name: str | None) -> Answer:
        everything = self._view.licenses()
        if not everything:
            return Answer("No licenses configured in Slurm.\n")
        return Answer(
            "".join(show_license(one, one_line=self._one_line) for one in everything if name in {None, one.name})
        )

    # ---- hostlists --------------------------------------------------------------------------------------------

    def hostnames(self, name: str | None) -> Answer:
        text = name
        if text is None:
            text = self._environ.get("SLURM_NODELIST")
            if not text:
                return Answer(err="scontrol: error: host list is empty\n")
        items = _items(text)
        try:
            return Answer("".join(f"{one}\n" for one in hosts_in_order(",".join(items))) if items else "")
        except ValueError:
            return Answer(err=f"Invalid hostlist: {text}\n")

    def hostlist(self, name: str | None) -> Answer:
        return Answer(_HELP, code=1) if name is None else host_list(name, in_order=True)

    def hostlist_sorted(self, name: str | None) -> Answer:
        return Answer(_HELP, code=1) if name is None else host_list(name, in_order=False)


def host_list(text: str, *, in_order: bool) -> Answer:
    """Format the names in a text as a hostlist, with those that come again.

    Args:
        text: Names and hostlists, separated by commas and white space.
        in_order: Whether they keep their order; else they are sorted.
    """
    items = _items(text)
    try:
        return Answer((fold_again(",".join(items), in_order=in_order) if items else "") + "\n")
    except ValueError:
        return Answer(err=f"Invalid hostlist: {','.join(items)}\n", code=1)


def _items(text: str) -> list[str]:
    return split_list(",".join(text.split()))
