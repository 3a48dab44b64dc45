"""What ``PrivateData`` of slurm.conf hides from a user: words of what belongs to others.

============== =======================================================================================================
accounts       ``sacctmgr list account`` shows the accounts that a user coordinates
jobs           ``squeue``, ``sprio``, ``sacct``, ``sstat``, ``scontrol show`` of jobs and steps show a user's own
nodes          there is no ``sinfo`` and ``scontrol show node``
partitions     nor ``scontrol show partition``
reservations   ``sinfo -T`` and ``scontrol show reservation`` show those that a user may use
usage          ``sshare``, ``sreport`` and the associations of ``scontrol show assoc_mgr`` show a user's own
users          ``sacctmgr list`` of users and associations, and ``sreport``, show a user's own; the users of
               ``scontrol show assoc_mgr`` are the user alone
============== =======================================================================================================

Coordinators also see what is charged to their accounts. From operators and administrators nothing is hidden.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.commands.getopt import UsageError

if TYPE_CHECKING:
    from rota.model import Association


@dataclass(frozen=True, slots=True, kw_only=True)
class Privacy:
    """What is hidden from a user."""

    #: The words of ``PrivateData``; none for operators.
    kinds: frozenset[str] = frozenset()
    user: str = ""
    #: The accounts that the user coordinates, and those in which they have an association.
    coordinated: frozenset[str] = frozenset()
    accounts: frozenset[str] = frozenset()

    @property
    def shows_all_jobs(self) -> bool:
        """Whether the user may see what tells about all jobs together, such as plans and forecasts."""
        return self.kinds.isdisjoint({"accounts", "jobs", "usage", "users"})

    def shows(self, kind: str, user: str, account: str = "") -> bool:
        """Whether the user may see what is another user's, charged to an account."""
        return kind not in self.kinds or user == self.user or account in self.coordinated

    def shows_association(self, one: Association) -> bool:
        """Whether the user may see the usage of an association."""
        return self.shows("usage", one.user or "\0", one.account)

    def require(self, kind: str, *, error: str = "") -> None:
        """Refuse to show nodes or partitions, where these are private.

        Args:
            kind: ``nodes`` or ``partitions``.
            error: Stands after the name of the request.

        Raises:
            UsageError: they are.
        """
        if kind in self.kinds:
            request = "slurm_load_node" if kind == "nodes" else "slurm_load_partitions"
            raise UsageError(f"{request}{error}: Access/permission denied\n")
