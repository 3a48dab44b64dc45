"""``scontrol show`` of nodes, partitions, reservations, licences and steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.config.hostlist import fold_sorted
from rota.listings.clock import full_duration
from rota.listings.node_columns import share_text
from rota.listings.node_facts import gres_used, reserved, tres_allocated, tres_configured
from rota.listings.records import record
from rota.listings.sacct_fields import step_tres
from rota.listings.text import NULL, or_null, plain, tres_text, weights_text
from rota.model.units import FLAGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.listings.clock import Clock
    from rota.listings.squeue_steps import Step
    from rota.listings.view import View
    from rota.model.lines import LicenseLine, NodeLine, PartitionLine, ReservationLine


def show_node(node: NodeLine, view: View, clock: Clock, *, one_line: bool, detailed: bool) -> str:
    """Format a node."""
    return record(_node(node, view, clock, detailed=detailed), one_line=one_line)


def _node(node: NodeLine, view: View, clock: Clock, *, detailed: bool) -> Iterator[str]:
    arch = f" Arch={node.arch}" if node.arch else ""
    yield f"NodeName={node.name}{arch} CoresPerSocket={node.cores_per_socket} "
    load = "N/A" if node.load is None else f"{node.load:.2f}"
    yield f"CPUAlloc={node.cpus_allocated} CPUEfctv={node.cpus} CPUTot={node.cpus} CPULoad={load}"
    features = or_null(",".join(node.features))
    yield f"AvailableFeatures={features}"
    yield f"ActiveFeatures={features}"
    yield f"Gres={','.join(node.gres) or NULL}"
    if detailed:
        yield "GresDrain=N/A"
        yield f"GresUsed={gres_used(node) or NULL}"
    version = f"Version={node.version}" if node.version else ""
    yield f"NodeAddr={node.address or node.name} NodeHostName={node.host or node.name} Port={node.port} {version}"
    if node.system:
        yield f"OS={plain(node.system)} "
    free = "N/A" if node.memory_free is None else node.memory_free
    yield (f"RealMemory={node.memory} AllocMem={node.memory_allocated} FreeMem={free} Sockets={node.sockets} Boards=1")
    state = "+".join([node.base_state, *node.flags])
    yield (
        f"State={state} ThreadsPerCore={node.threads_per_core} TmpDisk={node.tmp_disk} Weight={node.weight} Owner=N/A "
        "MCS_label=N/A"
    )
    if node.partitions:
        yield f"Partitions={','.join(node.partitions)} "
    boot, begun = (clock.moment(one) if one else "None" for one in (node.boot_time, node.daemon_start_time))
    yield f"BootTime={boot} SlurmdStartTime={begun}"
    yield f"LastBusyTime={clock.moment(node.last_busy) if node.last_busy else 'Unknown'}"
    yield f"CfgTRES={tres_configured(node)}"
    yield f"AllocTRES={tres_allocated(node)}"
    yield "CapWatts=n/a"
    yield "CurrentWatts=0 AveWatts=0"
    yield "ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s"
    if node.reason:
        who = f"{view.user_name(node.reason_uid)}@{clock.moment(node.reason_time)}"
        yield f"Reason={plain(node.reason)} [{who}]"
    if node.comment:
        yield f"Comment={plain(node.comment)}"
    if node.extra:
        yield f"Extra={plain(node.extra)}"


# ---- partitions -------------------------------------------------------------------------------------------------


def show_partition(part: PartitionLine, view: View, *, one_line: bool) -> str:
    """Format a partition."""
    return record(_partition(part, view), one_line=one_line)


def _partition(part: PartitionLine, view: View) -> Iterator[str]:
    def names(label: str, allowed: tuple[str, ...], denied: tuple[str, ...]) -> str:
        return (
            f"Deny{label}={','.join(denied)}"
            if denied and not allowed
            else f"Allow{label}={','.join(allowed) or 'ALL'}"
        )

    yield f"PartitionName={part.name}"
    accounts = names("Accounts", part.allow_accounts, part.deny_accounts)
    yield f"AllowGroups={','.join(part.allow_groups) or 'ALL'} {accounts} {names('Qos', part.allow_qos, part.deny_qos)}"
    yield f"AllocNodes=ALL Default={'YES' if part.default else 'NO'} QoS={part.qos or 'N/A'}"
    default = "NONE" if part.default_time is None else full_duration(part.default_time)
    no_root, one_user, hidden = (_flag(part, key) for key in ("DisableRootJobs", "ExclusiveUser", "Hidden"))
    yield f"DefaultTime={default} {no_root} {one_user} GraceTime={part.grace_time} {hidden}"
    most = "UNLIMITED" if part.max_nodes is None else part.max_nodes
    longest = "UNLIMITED" if part.max_time is None else full_duration(part.max_time)
    cpus_of_node = part.max_cpus_per_node or "UNLIMITED"
    yield (
        f"MaxNodes={most} MaxTime={longest} MinNodes={part.min_nodes} LLN={_yes(part.least_loaded)} "
        f"MaxCPUsPerNode={cpus_of_node}"
    )
    if part.node_sets:
        yield f"NodeSets={','.join(part.node_sets)}"
    yield f"Nodes={fold_sorted(part.nodes) or NULL}"
    share = share_text(exclusive=part.exclusive, most=part.max_share, force=part.force_share)
    yield (
        f"PriorityJobFactor={part.priority_job_factor} PriorityTier={part.priority_tier} "
        f"RootOnly={_yes(part.root_only)} ReqResv={_yes(part.req_resv)} OverSubscribe={share}"
    )
    over = "UNLIMITED" if part.over_time_limit is None else part.over_time_limit // 60 or "NONE"
    mode = part.options.get("preemptmode") or view.config.get("PreemptMode", "OFF")
    yield f"OverTimeLimit={over} PreemptMode={mode.upper()}"
    cpus, nodes = part.tres.get("cpu", 0), len(part.nodes)
    select = part.select_parameters or "NONE"
    yield f"State={part.state} TotalCPUs={cpus} TotalNodes={nodes} SelectTypeParameters={select}"
    defaults = {"DefCpuPerGPU": part.def_cpu_per_gpu, "DefMemPerGPU": part.def_mem_per_gpu}
    yield f"JobDefaults={','.join(f'{name}={number}' for name, number in defaults.items() if number) or NULL}"
    default_memory = _memory("DefMem", part.def_mem_per_cpu, part.def_mem_per_node)
    yield f"{default_memory} {_memory('MaxMem', part.max_mem_per_cpu, part.max_mem_per_node)}"
    yield f"TRES={tres_text(part.tres) or NULL}"
    if part.billing_weights:
        yield f"TRESBillingWeights={weights_text(part.billing_weights)}"


def _flag(part: PartitionLine, key: str) -> str:
    """Format an option that is a truth value and that rota does not heed."""
    return f"{key}={_yes(FLAGS.get(part.options.get(key.lower(), 'no').lower(), False))}"


def _memory(label: str, per_cpu: int, per_node: int) -> str:
    return f"{label}PerCPU={per_cpu}" if per_cpu else f"{label}PerNode={per_node or 'UNLIMITED'}"


def _yes(value: bool) -> str:
    return "YES" if value else "NO"


# ---- reservations, licences, steps ------------------------------------------------------------------------------


def show_reservation(one: ReservationLine, view: View, clock: Clock, *, one_line: bool) -> str:
    """Format an advance reservation."""
    cores, cpus = reserved(one, view)
    length = full_duration(one.end_time - one.start_time)
    start, end = clock.moment(one.start_time), clock.moment(one.end_time)
    nodes = f"Nodes={fold_sorted(one.nodes) or NULL} NodeCnt={len(one.nodes)} CoreCnt={cores}"
    users = f"Users={','.join(one.users) or NULL} Groups=(null) Accounts={','.join(one.accounts) or NULL}"
    after = full_duration(one.purge_after)
    flags = ",".join(f"{flag}={after}" if flag == "PURGE_COMP" else flag for flag in one.flags)
    lines = [
        f"ReservationName={plain(one.name)} StartTime={start} EndTime={end} Duration={length}",
        f"{nodes} Features={or_null(one.features)} PartitionName={or_null(one.partition)} Flags={flags}",
        f"TRES=cpu={cpus}",
        f"{users} Licenses=(null) State={one.state} BurstBuffer=(null) Watts=n/a",
        "MaxStartDelay=(null)",
    ]
    return record(lines, one_line=one_line)


def show_license(one: LicenseLine, *, one_line: bool) -> str:
    """Format a licence."""
    lines = [
        f"LicenseName={one.name}",
        f"Total={one.total} Used={one.used} Free={max(one.free, 0)} Reserved=0 Remote=no",
    ]
    return record(lines, one_line=one_line, indent="    ", end="\n")


def show_step(one: Step, view: View, clock: Clock, *, one_line: bool) -> str:
    """Format a step."""
    step, batch = one.step, one.step.step_id == "batch"
    cpus = 0 if batch else step.cpus
    client = view.step_client(one.job.job_id, step.step_id)
    counts = step_tres(one.job, step)
    tres = NULL if batch else tres_text(counts, ("cpu", "mem", "node", *sorted(counts.keys() - {"cpu", "mem", "node"})))
    limit = "UNLIMITED" if step.time_limit is None else full_duration(step.time_limit)
    lines = [
        f"StepId={one.shown_id} UserId={one.job.user_id} StartTime={clock.moment(step.start_time)} TimeLimit={limit}",
        f"State={step.state.value} Partition={one.job.partition} NodeList={fold_sorted(step.nodes)}",
        f"Nodes={len(step.nodes)} CPUs={cpus} Tasks={step.tasks} Name={or_null(step.name)} Network=(null)",
        f"TRES={tres}",
        "ResvPorts=(null)",
        f"CPUFreqReq=Default{f' Dist={client.distribution}' if client.distribution else ''}",
        f"SrunHost:Pid={client.process or '(null):0'}",
    ]
    return record(lines, one_line=one_line)
