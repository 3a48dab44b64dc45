"""The forms of rota's own paths. Times are Unix seconds, durations seconds, memory MiB; null: not set, or no limit.

What the controller answers has these forms already, and is passed on unread: see `rota.controller.api.objects`.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from rota.model import JobState


def matching(pattern: str, what: str) -> tuple[AfterValidator, WithJsonSchema]:
    """Describe a text that has to match a pattern: who gives another one is told in words what it has to be."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise PydanticCustomError("text", "it has to be {what}", {"what": what})
        return text

    return AfterValidator(check), WithJsonSchema({"type": "string", "pattern": pattern})


class Problem(BaseModel):
    """Why something was not done (RFC 9457)."""

    type: str
    title: str
    status: int
    #: Slurm's error number.
    errno: int | None = None
    #: The option or parameter that it is about.
    field: str | None = None


class JobSummary(BaseModel):
    """A job."""

    job_id: int
    array_job_id: int | None = Field(description="Job id of the job array.")
    array_task: str = Field(description="Task id; of pending tasks together, all ids in brackets.")
    name: str
    user: str
    account: str
    qos: str
    partition: str = Field(description="While it is pending, all that it may run in.")
    state: str
    reason: str
    priority: int
    nice: int
    submit_time: int
    eligible_time: int | None
    start_time: int | None
    end_time: int | None = Field(description="While it runs, its expected end.")
    planned_start: int | None
    time_limit: int | None
    dependency: str
    num_nodes: int
    num_cpus: int
    nodes: list[str]
    tres_requested: dict[str, int]
    tres_allocated: dict[str, int]
    restart_count: int
    exit_code: int
    signal: int = Field(description="The signal that ended it; 0: none.")


class Jobs(BaseModel):
    """Some of the jobs."""

    now: int
    jobs: list[JobSummary]
    next: int | None = Field(description="What to give as `after` for those that follow; null: there are none.")


class Step(BaseModel):
    """A step of a job, and what it has used."""

    step_id: str
    name: str
    state: str
    nodes: list[str]
    tasks: int
    cpus: int
    start_time: int
    end_time: int | None
    exit_code: int
    signal: int
    user_seconds: float
    system_seconds: float
    max_rss: int = Field(description="Bytes.")
    read_bytes: int
    written_bytes: int


class Job(JobSummary):
    """A job with what was handed in, and its steps."""

    command: str
    work_dir: str
    std_out: str
    std_err: str
    comment: str
    steps: list[Step]


class AccountedJobs(BaseModel):
    """Some of the jobs that the accounting knows."""

    now: int
    jobs: list[Job]
    next: int | None = Field(description="What to give as `offset` for those that follow; null: there are none.")


_Text = Annotated[str, Field(max_length=200)]
_Time = Annotated[int | None, Field(ge=0, le=2**40, description="Unix seconds.")]


class JobsAsked(BaseModel):
    """Which jobs are listed; empty: all."""

    after: int = Field(default=0, ge=0, le=2**32, description="Only jobs with larger ids.")
    limit: int = Field(default=100, ge=1, le=1000)
    user: _Text = ""
    account: _Text = ""
    partition: _Text = ""
    name: _Text = ""
    state: Literal["", "PENDING", "RUNNING", "SUSPENDED"] = ""


class AccountedAsked(BaseModel):
    """Which jobs of the accounting are listed; empty: all."""

    start: _Time = None
    end: _Time = None
    user: _Text = ""
    account: _Text = ""
    state: Literal["", *JobState.__members__] = ""  # type: ignore[valid-type] # all states
    limit: int = Field(default=100, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, le=10**9)


class Submission(BaseModel):
    """A batch job."""

    model_config = ConfigDict(extra="forbid")

    script: str = Field(min_length=1, max_length=4 << 20, examples=["#!/bin/sh\nhostname\n"])
    arguments: list[str] = Field(default=[], max_length=10_000)
    directory: Annotated[str, *matching("^(/.*)?$", "an absolute path")] = Field(
        default="", description="Where it runs. Empty: the home directory."
    )
    environment: dict[str, str] = {}
    options: dict[str, str | int | bool | None] = Field(
        default={},
        description="Long options of sbatch, which count more than directives of the script. true: without a value.",
        examples=[{"ntasks": 4, "time": "1:00:00", "hold": True}],
    )


class Submitted(BaseModel):
    """A job that has been submitted."""

    job_id: int


class Done(BaseModel):
    """It is done."""


class Update(BaseModel):
    """Changes of a job."""

    model_config = ConfigDict(extra="forbid")

    changes: dict[str, str | int] = Field(
        min_length=1,
        description="Keys and values of scontrol update.",
        examples=[{"TimeLimit": "30:00", "Nice": 100}],
    )


class Order(BaseModel):
    """What is to be done with a job: commands of scontrol."""

    model_config = ConfigDict(extra="forbid")

    command: Literal["hold", "uhold", "release", "requeue", "requeuehold", "suspend", "resume"]


class Node(BaseModel):
    """A node."""

    name: str
    state: str
    base_state: str
    flags: list[str]
    reason: str
    cpus: int
    cpus_allocated: int
    memory: int
    memory_allocated: int
    gres: list[str]
    gres_used: dict[str, int]
    features: list[str]
    weight: int
    partitions: list[str]
    jobs: list[int]


class Nodes(BaseModel):
    """All nodes."""

    now: int
    nodes: list[Node]


class Partition(BaseModel):
    """A partition."""

    name: str
    state: str
    default: bool
    nodes: list[str]
    tres: dict[str, int]
    max_time: int | None
    default_time: int | None
    min_nodes: int
    max_nodes: int | None
    priority_tier: int
    qos: str


class Partitions(BaseModel):
    """All partitions."""

    now: int
    partitions: list[Partition]


class QueuedJob(BaseModel):
    """A job that waits, at its place from 1."""

    place: int
    job_id: int
    array_job_id: int | None
    array_task: str
    name: str
    user: str
    account: str
    partition: str
    priority: int
    reason: str
    submit_time: int
    num_nodes: int
    num_cpus: int
    time_limit: int | None


class Queue(BaseModel):
    """A part of the queue, in its order."""

    now: int
    length: int
    jobs: list[QueuedJob]
    next: int | None


class PlannedJob(BaseModel):
    """Where and when a job that waits is to start; null and empty: not planned, or left open."""

    place: int
    job_id: int
    array_job_id: int | None
    array_task: str
    planned_start: int | None
    planned_nodes: list[str]


class Plan(BaseModel):
    """The scheduler's plan for a part of the queue."""

    now: int
    length: int
    jobs: list[PlannedJob]
    next: int | None


class Explanation(BaseModel):
    """Why a job waits, as `rota explain --json` says it."""

    model_config = ConfigDict(extra="allow")

    job_id: int
    now: int
    state: str
    reason: str
    priority: int
    place: int
    queue_length: int
    starts: int | None


class ForecastJob(BaseModel):
    """When a job is forecast to start."""

    model_config = ConfigDict(extra="allow")

    job: int | str


class Learned(BaseModel):
    """From which jobs run times are learned: how many have ended, the first and the last of them when."""

    jobs: int
    first_end: int | None
    last_end: int | None


class Forecast(BaseModel):
    """When waiting jobs will start, as `rota forecast --json` says it."""

    now: int
    futures: int
    learned_from: Learned
    jobs: list[ForecastJob]


class MainStatistics(BaseModel):
    """What the scheduler has done when something happened."""

    cycles: int
    last_queue_length: int
    last_depth: int
    depth: int
    mean_depth: float
    jobs_started: int


class BackfillStatistics(BaseModel):
    """What the scheduler has done in the background."""

    cycles: int
    last_queue_length: int
    last_depth: int
    last_table_size: int
    jobs_started: int


class Diagnostics(BaseModel):
    """What the controller has done."""

    version: str
    cluster: str
    now: int
    boot_time: int
    nodes: int
    cpus: int
    cpus_allocated: int
    jobs: dict[str, int]
    plugin_faults: dict[str, int]
    trouble: str
    events: int
    passes: int
    main: MainStatistics
    backfill: BackfillStatistics | None
