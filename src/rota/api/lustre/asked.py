"""How a time, a filter and metrics are written in a request, and what question they make."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from rota.lustre.measures import METRICS, NOT_KNOWN
from rota.lustre.query import Question, filters_of
from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.lustre.store import Look

#: Seconds that are asked for if nothing else is said.
LAST = 600
_Text = Annotated[str, Field(max_length=64)]
_Moment = Annotated[str, Field(max_length=40, description="Unix seconds, or ISO 8601; without an offset it is UTC.")]


class Asked(BaseModel):
    """What all questions have."""

    model_config = ConfigDict(extra="forbid")

    begin: _Moment = ""
    end: Annotated[str, Field(max_length=40, description="Default: the end of what was read.")] = ""
    last: Annotated[float, Field(gt=0, le=1e10, description="Seconds before the end, if there is no begin.")] = LAST
    where: Annotated[
        list[Annotated[str, Field(max_length=300)]],
        Field(max_length=100, description="FIELD=VALUE, such as kind=OST; of one field, any of the values."),
    ] = []

    def window(self, look: Look) -> tuple[float, float]:
        """Give begin and end, Unix seconds.

        Raises:
            InputError: one of them is no time.
        """
        end = moment_of(self.end, "end") if self.end else float(max(look.until, look.kept[0].step))
        begin = moment_of(self.begin, "begin") if self.begin else max(end - self.last, 0.0)
        return begin, end


class AskedMetrics(Asked):
    """What questions of several metrics have."""

    metrics: Annotated[str, Field(max_length=1000, description="With commas between.")] = ",".join(METRICS)
    by: Annotated[_Text, Field(description="Field by which to group; empty: all together.")] = "job"
    sort: Annotated[_Text, Field(description="Metric by which groups are largest; empty: the first one.")] = ""


class AskedTop(AskedMetrics):
    """What is asked of the groups that did most."""

    metrics: Annotated[str, Field(max_length=1000, description="With commas between.")] = ",".join(
        (*METRICS, NOT_KNOWN)
    )
    top: Annotated[int, Field(ge=1, le=10_000, description="How many groups.")] = 20

    def question(self, look: Look) -> Question:
        """Give the question."""
        begin, end = self.window(look)
        return Question(begin, end, names_of(self.metrics), self.by, filters_of(self.where), top=self.top, by=self.sort)


class AskedSeries(AskedMetrics):
    """What is asked of rates over time."""

    top: Annotated[int, Field(ge=1, le=1000, description="How many groups.")] = 20
    points: Annotated[int, Field(ge=2, le=10_000, description="At most so many steps.")] = 200

    def question(self, look: Look) -> Question:
        """Give the question."""
        begin, end = self.window(look)
        return Question(
            begin, end, names_of(self.metrics), self.by, filters_of(self.where), self.points, self.top, self.sort
        )


class AskedHeat(Asked):
    """What is asked of all targets over time."""

    metric: _Text = METRICS[0]
    points: Annotated[int, Field(ge=2, le=10_000, description="At most so many steps.")] = 200

    def question(self, look: Look) -> Question:
        """Give the question."""
        begin, end = self.window(look)
        return Question(begin, end, (self.metric,), "target", filters_of(self.where), self.points)


class AskedJob(BaseModel):
    """What is asked of one job."""

    model_config = ConfigDict(extra="forbid")

    metrics: Annotated[str, Field(max_length=1000)] = ",".join(METRICS)
    begin: _Moment = ""
    end: _Moment = ""
    points: Annotated[int, Field(ge=2, le=10_000)] = 200
    top: Annotated[int, Field(ge=1, le=10_000, description="How many targets.")] = 1000


def names_of(metrics: str) -> Sequence[str]:
    """Give the metrics of a list with commas between.

    Raises:
        InputError: there are none, or too many.
    """
    found = tuple(dict.fromkeys(filter(None, metrics.split(","))))
    if not 0 < len(found) <= 40:
        raise InputError("name between 1 and 40 metrics", field="metrics")
    return found


def moment_of(text: str, field: str) -> float:
    """Read a time.

    Raises:
        InputError: it is none.
    """
    try:
        moment = float(text)
    except ValueError:
        try:
            read = datetime.fromisoformat(text)
            moment = (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            raise InputError(f"{text!r} is neither Unix seconds nor ISO 8601", field=field) from None
    if not math.isfinite(moment):
        raise InputError(f"{text!r} is no time", field=field)
    return moment
