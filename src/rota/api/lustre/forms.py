"""The forms of the paths below ``/lustre/v1``.

Times are Unix seconds, durations seconds. Totals are bytes, numbers of operations or, of ``OPERATION.total``,
microseconds; rates are totals a second. A ``.latency`` is a mean in microseconds in both; null: nothing was done.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class Amount(BaseModel):
    """How much, by metric."""

    totals: dict[str, int | float | None]
    rates: dict[str, float | None]


class Row(Amount):
    """A group, and how much it did."""

    label: str = Field(description="Its name; empty: jobs of which the field is not known.")
    fields: dict[str, Any] | None = Field(description="If the groups are jobs: what is known of the job.")


class Window(BaseModel):
    """The time of an answer, in whole steps: it can be somewhat longer than what was asked for."""

    begin: int
    end: int
    step: int


class Top(Window):
    """The groups that did most."""

    by: str
    sort: str
    rows: list[Row]
    more: int = Field(description="How many more groups did something.")
    others: Amount = Field(description="These together.")
    all: Amount


class Line(BaseModel):
    """A group's rates, by metric: one for each step."""

    label: str
    fields: dict[str, Any] | None
    rates: dict[str, list[float | None]]


class Series(Window):
    """Rates over time."""

    by: str
    sort: str
    series: list[Line] = Field(description="The groups that did most.")
    more: int
    others: dict[str, list[float | None]]
    all: dict[str, list[float | None]]


class Heat(Window):
    """Rates of every target over time."""

    metric: str
    targets: list[str] = Field(description="In the order of their names, also those on which nothing was done.")
    rates: list[list[float | None]] = Field(description="One list for each target, one number for each step.")


class Target(BaseModel):
    """A target."""

    target: str
    kind: str = Field(description="OST or MDT; empty: its name does not say.")
    filesystem: str


class Targets(BaseModel):
    """All targets that were ever read."""

    targets: list[Target]


class Operation(BaseModel):
    """What a job did of one operation."""

    samples: int
    total: int = Field(description="Bytes or microseconds; 0: it is not timed.")


class Job(BaseModel):
    """A job, in all that is known of it."""

    job: str
    first: int = Field(description="Begin of the first step in which it did something.")
    last: int = Field(description="End of the last one, so far.")
    fields: dict[str, Any]
    operations: dict[str, Operation] = Field(description="All that it ever did, until the end of the last step.")
    history: Series = Field(description="Its rates on each target, by default from first to last.")


class Fields(BaseModel):
    """By what can be grouped and filtered."""

    fields: list[str]
    operations: list[str] = Field(description="For the metrics OPERATION.samples, .total and .latency.")
    metrics: list[str] = Field(description="The five metrics.")


class Source(BaseModel):
    """How a source is."""

    name: str
    readings: int
    failures: int = Field(description="Of readings, or of parts of them.")
    missed: int = Field(description="Moments that passed while it was still being read.")
    bad_lines: int = Field(description="Lines that could not be understood.")
    bad_line: str = Field(description="One of them, of the last reading that had any, and why; empty: there was none.")
    unread: int = Field(description="Entries of which something was not read, and is not known.")
    jobs: int = Field(description="Entries in the last reading.")
    counters: int
    untracked: int = Field(description="Entries in it that were too many to remember.")
    seconds: float = Field(description="How long the last reading took.")
    last: float | None = Field(description="When it was last read.")
    error: str = Field(description="Why the last reading failed, all of it or a part; empty: it did not.")
    remark: str = Field(description="What was odd about it though nothing failed, as a target that two sources have.")
    busy_since: float | None = Field(description="Since when it is being read; null: it is not.")
    tried: float


class Writing(BaseModel):
    """How writing is."""

    times: int
    failures: int
    rows: int
    dropped: int = Field(description="Increases that no machine can have.")
    lost: int = Field(description="What jobs did on a target in an interval, for which there was no room to wait.")
    waiting: int = Field(description="The same, waiting until it can be written.")
    seconds: float
    error: str


class Tier(BaseModel):
    """What there is of a resolution."""

    step: int
    low: int = Field(description="Nothing from before this is there any more.")
    high: int = Field(description="Until then it is whole.")
    keep: int | None = Field(description="For how long it is kept; null: for ever.")


class Store(BaseModel):
    """How the store is."""

    bytes: int
    tiers: list[Tier]


class Status(BaseModel):
    """How the collector is."""

    version: str
    now: float
    until: int = Field(description="Until when all is there that was read in time.")
    interval: int
    sources: list[Source]
    writing: Writing
    store: Store
    lookups: dict[str, Any] = Field(description="How lookups of jobs are, by plugin.")
