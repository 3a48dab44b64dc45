"""Changes of accounts, users, associations and QOS: what they do at once, who may make them, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rota.accounting import AssociationTree
from rota.core import events as ev
from rota.core.effects import Refused
from rota.core.snapshot import save
from rota.model import Account, Association, Errno, Qos, RequestError, User
from rota.testing import Harness, cluster
from rota.testing.builders import spec

if TYPE_CHECKING:
    from rota.core.job import Job

Key, Record = ev.AssociationKey, ev.AssociationRecord
_CONFIG = cluster(cpus=4, AccountingStorageEnforce="associations,limits,qos")


def _tree() -> AssociationTree:
    """root ─ physics ─ (ann, theory ─ bob), chemistry ─ (ann, cem)."""
    return AssociationTree(
        "cluster",
        [
            Association(id=1, account="root", qos=("normal",)),
            Association(id=2, account="physics", parent_id=1, shares_raw=60),
            Association(id=3, account="chemistry", parent_id=1, shares_raw=40),
            Association(id=4, account="theory", parent_id=2),
            Association(id=5, account="physics", user="ann", parent_id=2),
            Association(id=6, account="theory", user="bob", parent_id=4),
            Association(id=7, account="chemistry", user="ann", parent_id=3),
            Association(id=8, account="chemistry", user="cem", parent_id=3),
        ],
        users=[
            User(name="ann", default_account="physics", coordinator=("physics",)),
            User(name="op", admin_level="Operator"),
            User(name="boss", admin_level="Administrator"),
        ],
        qos=[Qos(name="normal", id=1), Qos(name="high", id=2, priority=100)],
    )


def _rota(priority: str = "priority/basic") -> Harness:
    return Harness(_CONFIG, priority=priority, associations=_tree())


def _refusals(rota: Harness, event: ev.Event) -> list[Refused]:
    return [one for one in rota.engine.handle(event, rota.now) if isinstance(one, Refused)]


def _send(rota: Harness, event: ev.UpdateAccounting) -> None:
    """Send an event, which has to be carried out."""
    assert not [one for one in rota.send(event) if isinstance(one, Refused)]


def test_a_new_association_lets_its_user_submit_at_once() -> None:
    with _rota() as rota:
        with pytest.raises(RequestError):
            rota.submit(spec(cpus=1, user="dan", account="theory"))
        _send(rota, ev.UpdateAccounting(associations=(Record(key=Key("theory", "dan")),)))
        assert rota.job(rota.submit(spec(cpus=1, user="dan", account="theory"))).state.value == "RUNNING"


def test_a_new_limit_holds_pending_jobs_back_and_its_end_lets_them_start() -> None:
    with _rota() as rota:
        full = rota.submit(spec(cpus=4, user="cem", account="chemistry"))
        job = rota.submit(spec(cpus=2, user="ann", account="physics"))
        limited = Record(key=Key("physics"), parent="root", shares_raw=60, limits={"GrpTRES": "cpu=1"})
        _send(rota, ev.UpdateAccounting(associations=(limited,)))
        rota.end(full)
        assert rota.engine.view.reason(job).value == "AssocGrpCpuLimit"
        _send(rota, ev.UpdateAccounting(associations=(replace(limited, limits={}),)))
        assert rota.job(job).state.value == "RUNNING"


def test_more_shares_give_pending_jobs_a_higher_priority_at_once() -> None:
    with _weighted() as rota:
        rota.submit(spec(cpus=4, user="cem", account="chemistry"))
        job = rota.submit(spec(cpus=4, user="bob", account="theory"))
        rota.wait(1800)
        before = rota.job(job).priority
        poor = Record(key=Key("physics"), parent="root", shares_raw=0)
        _send(rota, ev.UpdateAccounting(associations=(poor,)))
        assert rota.job(job).priority < before


def _weighted() -> Harness:
    config = cluster(
        cpus=4, AccountingStorageEnforce="associations,limits,qos", PriorityWeightFairshare="1000", PriorityFlags=""
    )
    return Harness(config, priority="priority/multifactor", associations=_tree())


def test_the_usage_of_an_account_moves_with_it() -> None:
    with _weighted() as rota:
        job = rota.submit(spec(cpus=4, user="bob", account="theory"))
        other = rota.submit(spec(cpus=4, user="cem", account="chemistry"))
        rota.wait(100)
        rota.end(job)
        rota.wait(100)
        usage = {one.account: one.usage_raw for one in _accounts(rota)}
        assert usage["theory"] > 0
        moved = Record(key=Key("theory"), parent="chemistry")
        _send(rota, ev.UpdateAccounting(associations=(moved,)))
        now = {one.account: one.usage_raw for one in _accounts(rota)}
        assert now["physics"] == pytest.approx(0)
        assert now["chemistry"] == pytest.approx(usage["chemistry"] + usage["theory"])
        assert now["root"] == pytest.approx(usage["root"])
        rota.end(other)


def _accounts(rota: Harness) -> list[Association]:
    return [line.association for line in rota.engine.view.associations(users=False)]


def test_a_running_job_is_charged_where_its_account_has_moved_to() -> None:
    with _weighted() as rota:
        rota.submit(spec(cpus=4, user="bob", account="theory"))
        rota.wait(1000)
        _send(rota, ev.UpdateAccounting(associations=(Record(key=Key("theory"), parent="chemistry"),)))
        rota.wait(3600)
        now = {one.account: one.usage_raw for one in _accounts(rota)}
        assert now["chemistry"] == pytest.approx(now["theory"])
        assert now["physics"] == 0


def test_who_was_removed_is_nowhere_and_may_be_added_again() -> None:
    with _rota() as rota:
        gone = Key("chemistry", "cem")
        _send(rota, ev.UpdateAccounting(removed_associations=(gone,), removed_users=("cem",)))
        assert "cem" not in {line.association.user for line in rota.engine.view.associations()}
        with pytest.raises(RequestError):
            rota.submit(spec(cpus=1, user="cem", account="chemistry"))
        _send(rota, ev.UpdateAccounting(associations=(Record(key=gone),)))
        assert rota.submit(spec(cpus=1, user="cem", account="chemistry")).assoc is not None


def test_all_of_it_is_there_after_a_restart() -> None:
    with _weighted() as rota:
        event = ev.UpdateAccounting(
            accounts=(Account(name="new", description="d", organization="o"),),
            associations=(
                Record(key=Key("new"), parent="chemistry", shares_raw=7, qos=("+high",)),
                Record(key=Key("new", "dan"), limits={"MaxJobs": "3"}),
            ),
            users=(User(name="dan", default_account="new", coordinator=("new",)),),
            qos=(Qos(name="late", id=3, preempt=("high",)),),
            removed_associations=(Key("chemistry", "cem"),),
            removed_users=("cem",),
        )
        _send(rota, event)
        rota.submit(spec(cpus=4, user="dan"))
        rota.wait(50)
        before = rota.engine.view.associations()
        saved = save(rota.engine)
        rota.restart()
        assert rota.engine.view.associations() == before or str(rota.engine.view.associations()) == str(before)
        assert save(rota.engine)["accounts"] == saved["accounts"]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (ev.UpdateAccounting(associations=(Record(key=Key("new"), parent="nowhere"),)), "no account above"),
        (ev.UpdateAccounting(associations=(Record(key=Key("nowhere", "ann")),)), "no account above"),
        (ev.UpdateAccounting(associations=(Record(key=Key("new")),)), "under no account"),
        (ev.UpdateAccounting(associations=(Record(key=Key("physics"), parent="theory"),)), "circle"),
        (ev.UpdateAccounting(associations=(Record(key=Key("root"), parent="theory"),)), "cannot be there"),
        (ev.UpdateAccounting(associations=(Record(key=Key("physics", "x,y")),)), "is no name"),
        (ev.UpdateAccounting(associations=(Record(key=Key("physics", "ann"), qos=("odd",)),)), "no QOS 'odd'"),
        (ev.UpdateAccounting(associations=(Record(key=Key("physics", "ann"), default_qos="odd"),)), "no QOS 'odd'"),
        (ev.UpdateAccounting(associations=(Record(key=Key("physics", "ann"), shares_raw=-1),)), "shares"),
        (ev.UpdateAccounting(associations=(Record(key=Key("physics", "ann"), limits={"MaxJobs": "x"}),)), "MaxJobs"),
        (ev.UpdateAccounting(associations=(Record(key=Key("a"), parent="root"),) * 2), "twice"),
        (ev.UpdateAccounting(users=(User(name="ann", default_account="theory"),)), "default account"),
        (ev.UpdateAccounting(users=(User(name="ann", admin_level="King"),)), "none of"),
        (ev.UpdateAccounting(users=(User(name="ann", coordinator=("odd",)),)), "coordinates"),
        (ev.UpdateAccounting(qos=(Qos(name="a", preempt=("odd",)),)), "no QOS 'odd'"),
        (ev.UpdateAccounting(qos=(Qos(name="a", usage_factor=-1.0),)), "factor"),
        (ev.UpdateAccounting(qos=(Qos(name="a", limits={"GrpTRES": "odd=1"}),)), "odd"),
        (ev.UpdateAccounting(accounts=(Account(name="lonely"),)), "no association"),
        (ev.UpdateAccounting(accounts=(Account(name="physics", description="a\nb"),)), "printed"),
        (ev.UpdateAccounting(removed_associations=(Key("root"),)), "cannot be removed"),
        (ev.UpdateAccounting(removed_associations=(Key("physics"),)), "is under"),
        (ev.UpdateAccounting(removed_associations=(Key("odd"),)), "not there"),
        (ev.UpdateAccounting(removed_associations=(Key("physics", "ann"),)), "default account"),
        (
            ev.UpdateAccounting(removed_associations=(Key("chemistry", "cem"),), removed_users=("cem",)),
            "job 1 is charged",
        ),
        (ev.UpdateAccounting(removed_users=("bob",)), "has associations"),
        (ev.UpdateAccounting(removed_users=("odd",)), "not there"),
        (ev.UpdateAccounting(removed_qos=("odd",)), "no QOS 'odd'"),
        (ev.UpdateAccounting(removed_qos=("normal",)), "normal"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_and_changes_nothing(event: ev.UpdateAccounting, message: str) -> None:
    with _rota() as rota:
        rota.submit(spec(cpus=1, user="cem", account="chemistry"))
        before = json.dumps(save(rota.engine))
        (refused,) = _refusals(rota, event)
        assert message in refused.message
        assert json.dumps(save(rota.engine)) == before


_NEW_USER = ev.UpdateAccounting(associations=(Record(key=Key("theory", "dan")),), users=(User(name="dan"),))
_LIMIT = ev.UpdateAccounting(associations=(Record(key=Key("theory", "bob"), limits={"MaxJobs": "1"}),))
_SUB = ev.UpdateAccounting(associations=(Record(key=Key("sub"), parent="theory"), Record(key=Key("sub", "ann"))))
_OWN = ev.UpdateAccounting(associations=(Record(key=Key("physics"), parent="root", shares_raw=99),))
_BELOW = ev.UpdateAccounting(associations=(Record(key=Key("theory"), parent="physics", shares_raw=99),))
_OUT = ev.UpdateAccounting(associations=(Record(key=Key("theory"), parent="chemistry"),))
_IN = ev.UpdateAccounting(associations=(Record(key=Key("chemistry"), parent="physics"),))
_OTHER = ev.UpdateAccounting(associations=(Record(key=Key("chemistry", "cem"), shares_raw=99),))
_REMOVE = ev.UpdateAccounting(removed_associations=(Key("theory", "bob"),), removed_users=("bob",))
_REMOVE_OTHER = ev.UpdateAccounting(removed_associations=(Key("chemistry", "cem"),), removed_users=("cem",))
_DEFAULT = ev.UpdateAccounting(users=(User(name="ann", default_account="chemistry", coordinator=("physics",)),))
_QOS = ev.UpdateAccounting(qos=(Qos(name="mine"),))
_LEVEL = ev.UpdateAccounting(users=(User(name="cem", default_account="chemistry", admin_level="Operator"),))
_COORDINATOR = ev.UpdateAccounting(users=(User(name="bob", default_account="theory", coordinator=("theory",)),))
_MORE = ev.UpdateAccounting(users=(User(name="bob", default_account="theory", coordinator=("chemistry",)),))


@pytest.mark.parametrize(
    ("user", "event", "allowed"),
    [
        *((("boss"), event, True) for event in (_NEW_USER, _OWN, _QOS, _LEVEL, _OUT, _REMOVE_OTHER)),
        *((("op"), event, True) for event in (_NEW_USER, _OWN, _OUT, _REMOVE_OTHER, _MORE)),
        *((("op"), event, False) for event in (_QOS, _LEVEL)),
        *((("ann"), event, True) for event in (_NEW_USER, _LIMIT, _SUB, _BELOW, _REMOVE, _DEFAULT, _COORDINATOR)),
        *((("ann"), event, False) for event in (_OWN, _OUT, _IN, _OTHER, _REMOVE_OTHER, _QOS, _LEVEL, _MORE)),
        *((("cem"), event, False) for event in (_NEW_USER, _OTHER, _DEFAULT, _QOS, _LEVEL, _COORDINATOR)),
        *((("stranger"), event, False) for event in (_NEW_USER, _OTHER, _DEFAULT, _QOS)),
    ],
)
def test_who_may_change_what(user: str, event: ev.UpdateAccounting, *, allowed: bool) -> None:
    with _rota() as rota:
        refused = _refusals(rota, replace(event, uid=1000, user=user))
        assert [one.errno for one in refused] == ([] if allowed else [Errno.ACCESS_DENIED])


def test_a_job_keeps_its_qos_when_another_becomes_the_default() -> None:
    """As in Slurm, which notes the QOS with the job."""

    def default(name: str) -> ev.UpdateAccounting:
        return ev.UpdateAccounting(associations=(Record(key=Key("root"), qos=("normal", "high"), default_qos=name),))

    def qos() -> list[str]:
        return [line.qos for line in rota.engine.view.jobs()]

    def submit() -> Job:
        return rota.submit(spec(cpus=4, user="ann", account="physics"))

    with _rota() as rota:
        submit()
        _send(rota, default("high"))
        submit()
        _send(rota, default("normal"))
        last = submit()
        assert qos() == ["normal", "high", "normal"]
        rota.restart()
        assert qos() == ["normal", "high", "normal"]
        _send(rota, default("high"))
        rota.send(ev.UpdateJob(job_id=last.job_id, uid=0, changes={"qos": ""}))
        assert qos() == ["normal", "high", "high"]
