"""The forms of slurmrestd's paths, as far as they are fixed: what objects are within is in `rota.listings.openapi`."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

#: What slurmrestd takes for nearly all properties, whatever its OpenAPI says.
Value = str | int | bool | float


class Meta(BaseModel):
    """Which plugin of which release answers."""

    plugin: dict[str, str]
    Slurm: dict[str, Any]


class Error(BaseModel):
    """What was wrong."""

    model_config = ConfigDict(extra="allow")

    error: str
    error_number: int | None = None
    error_code: int | None = None
    description: str | None = None
    source: str | None = None


class Errors(BaseModel):
    """A document without objects."""

    meta: Meta
    errors: list[Error]


class Pings(Errors):
    """Controllers."""

    pings: list[dict[str, Any]]


class Diagnostics(Errors):
    """Statistics."""

    statistics: dict[str, Any]


class Licenses(Errors):
    """Licences."""

    licenses: list[dict[str, Any]]


class Jobs(Errors):
    """Jobs."""

    jobs: list[dict[str, Any]]


class AccountingQuery(BaseModel):
    """What jobs of the accounting are asked for: lists, and times as ``sacct`` reads them."""

    model_config = ConfigDict(extra="allow")  # slurmrestd does not tell names apart by their case

    start_time: str | None = None
    end_time: str | None = None
    account: str | None = None
    cluster: str | None = None
    group: str | None = None
    job_name: str | None = None
    node: str | None = None
    partition: str | None = None
    qos: str | None = None
    state: str | None = None
    step: str | None = None
    wckey: str | None = None
    skip_steps: str | None = None
    disable_wait_for_result: str | None = None


class Nodes(Errors):
    """Nodes."""

    nodes: list[dict[str, Any]]


class Partitions(Errors):
    """Partitions."""

    partitions: list[dict[str, Any]]


class Reservations(Errors):
    """Reservations."""

    reservations: list[dict[str, Any]]


class Submitted(Errors):
    """A job that was submitted; `errors` may say why it will not start soon."""

    job_id: int
    step_id: str
    job_submit_user_msg: str


class JobProperties(BaseModel):
    """Properties of a job, those of job_properties in the OpenAPI of Slurm 22.05."""

    model_config = ConfigDict(extra="allow")

    environment: dict[str, Value] = {}
    argv: list[str] | None = None
    account: Value | None = None
    array: Value | None = None
    begin_time: str | None = None
    constraints: Value | None = None
    cpus_per_task: Value | None = None
    current_working_directory: str | None = None
    dependency: Value | None = None
    exclusive: Value | None = None
    gres: Value | None = None
    hold: bool | None = None
    memory_per_cpu: Value | None = None
    memory_per_node: Value | None = None
    name: Value | None = None
    nice: Value | None = None
    nodes: Value | list[int] | None = None
    partition: Value | None = None
    priority: Value | None = None
    qos: Value | None = None
    requeue: bool | None = None
    standard_error: str | None = None
    standard_input: str | None = None
    standard_output: str | None = None
    tasks: Value | None = None
    tasks_per_node: Value | None = None
    time_limit: Value | None = Field(default=None, description="Minutes.")


class Submission(BaseModel):
    """A script, and the properties of its job."""

    script: str
    job: JobProperties | None = None
    jobs: list[JobProperties] | None = None


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """Describe a body that has a form, for an operation of OpenAPI."""
    schema = _without_references(model.model_json_schema())
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def _without_references(schema: dict[str, Any]) -> dict[str, Any]:
    """Put definitions where they are referred to."""
    definitions = schema.pop("$defs", {})

    def put(part: Any) -> Any:
        if isinstance(part, list):
            return [put(one) for one in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            return put(definitions[part["$ref"].rpartition("/")[2]])
        return {key: put(one) for key, one in part.items()}

    found: dict[str, Any] = put(schema)
    return found
