"""Who may do what on a live cluster, as in Slurm 22.05.

=============== ======================================================================================================
administrators  root, the user who runs the controller, and users of the level ``Administrator``: everything
operators       users of the level ``Operator``: everything about jobs and reservations
coordinators    with the jobs of their accounts, what the jobs' owners may
all others      with their own jobs, what owners may
=============== ======================================================================================================

A request counts as that of user 0 if its user may do what administrators may, or as that of a job's owner. What owners
may, the engine says.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rota.core.accounts.rights import coordinated
from rota.users import user_name

if TYPE_CHECKING:
    from rota.core import Engine

_ADMINISTRATOR, _OPERATOR = "Administrator", "Operator"


class Rights:
    """Who may do what.

    Args:
        engine: Knows levels and coordinators.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def as_administrator(self, uid: int) -> int:
        """Give the user id as which a request counts that is the administrators' to make."""
        return 0 if uid in {0, os.geteuid()} or self._level(uid) == _ADMINISTRATOR else uid

    def as_operator(self, uid: int) -> int:
        """Give the user id as which a request counts that is the operators' to make."""
        return 0 if self._level(uid) == _OPERATOR else self.as_administrator(uid)

    def over_job(self, uid: int, job_id: int) -> int:
        """Give the user id as which a request about a job counts; of an array, the id is that of any of its jobs."""
        found, engine = self.as_operator(uid), self._engine
        user = engine.view.tree.users.get(user_name(uid))
        if not found or user is None or not user.coordinator:
            return found
        job = engine.jobs.get(job_id)
        if job is None and engine.view.has_array(job_id):
            job = next(iter(engine.view.find(job_id, None)), None)
        return uid if job is None else self.over_account(uid, engine.view.line(job).account, job.user_id)

    def over_account(self, uid: int, account: str, owner: int) -> int:
        """Give the user id as which a request about a job of somebody counts that is charged to an account."""
        found, tree = self.as_operator(uid), self._engine.view.tree
        user = tree.users.get(user_name(uid))
        is_coordinator = user is not None and bool(user.coordinator) and account in coordinated(tree, user)
        return owner if found and is_coordinator else found

    def _level(self, uid: int) -> str:
        user = self._engine.view.tree.users.get(user_name(uid))
        return "" if user is None else user.admin_level
