"""``scontrol create``, ``update`` and ``delete`` of partitions. What they set lasts until slurm.conf is read again.

Unlike in Slurm, each is carried out as a whole or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.commands.slurm_messages import message_of
from rota.config import with_keys
from rota.core import events as ev
from rota.model import Errno, InputError, Partition, PartitionState, RequestError

if TYPE_CHECKING:
    from rota.commands.partition_update import PartitionUpdate
    from rota.controller.cluster import Cluster

#: Sentences of Slurm for keys that cannot be read, by the key in lower case.
_SENTENCES = {
    "nodes": message_of(Errno.INVALID_NODE_NAME, "")[0],
    "tresbillingweights": "Invalid TRESBillingWeights specification",
}


async def set_partition(cluster: Cluster, request: PartitionUpdate, uid: int) -> list[str]:
    """Create or change a partition; say what is wrong.

    Args:
        cluster: The cluster.
        request: The command.
        uid: Who asks; 0: an administrator.
    """
    failed = "Error creating the partition" if request.create else "slurm_update error"
    try:
        event = _event(cluster, request, uid)
    except InputError as error:
        return [f"{failed}: {_SENTENCES.get((error.field or '').lower(), error)}"]
    except RequestError as error:
        return [f"{failed}: {message_of(error.errno, '')[0]}"]
    return await _carry_out(cluster, event, failed)


async def delete_partition(cluster: Cluster, name: str, uid: int) -> list[str]:
    """Delete a partition; say what is wrong.

    Args:
        cluster: The cluster.
        name: Its name.
        uid: Who asks; 0: an administrator.
    """
    failed = f"delete_partition partitionname={name}"
    if not name:
        return [f"{failed}: {message_of(Errno.INVALID_PARTITION_NAME, '')[0]}"]
    return await _carry_out(cluster, ev.DeletePartition(name=name, uid=uid), failed)


async def _carry_out(cluster: Cluster, event: ev.Event, failed: str) -> list[str]:
    refused = await cluster.driver.request(event)
    return [] if refused is None else [f"{failed}: {message_of(refused.errno, refused.message)[0]}"]


def _event(cluster: Cluster, request: PartitionUpdate, uid: int) -> ev.Event:
    """Make the event that the engine is asked to carry out.

    Raises:
        InputError: a key cannot be read.
        RequestError: there is no such partition.
    """
    config = cluster.driver.engine.view.config
    state = PartitionState[request.state] if request.state else None
    keys = {} if uid else request.keys  # who is no administrator is refused whatever there is
    if request.create:
        # As in Slurm, MinNodes is 1 here, and 0 in slurm.conf.
        new = Partition(name=request.name, nodes=0, min_nodes=1, state=state or PartitionState.UP)
        return ev.CreatePartition(partition=with_keys(config, new, keys), uid=uid)
    if not keys:
        return ev.UpdatePartition(name=request.name, state=state, uid=uid)
    known = next((one for one in config.partitions if one.name == request.name), None)
    if known is None:
        raise RequestError(f"there is no partition {request.name}", Errno.INVALID_PARTITION_NAME)
    return ev.UpdatePartition(name=request.name, state=state, partition=with_keys(config, known, keys), uid=uid)
