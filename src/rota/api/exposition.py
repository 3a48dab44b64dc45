"""Metrics as they are asked for: in OpenMetrics if that is accepted, and else in Prometheus's text format."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fastapi import Response
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, choose_encoder, generate_latest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client.registry import Collector

#: What OpenAPI says of the answer.
FORMS: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {}, "application/openmetrics-text": {}}}}

#: Of a form in an Accept header: whether it is named as one that is not accepted.
_is_refused = re.compile(r";\s*q\s*=\s*0(?:\.0*)?\s*(?:;|$)", re.IGNORECASE).search


def exposed(collectors: Iterable[Collector], accept: str) -> Response:
    """Tell what collectors have.

    Args:
        collectors: They have no name in common.
        accept: The header of the request.
    """
    registry = CollectorRegistry()
    for one in collectors:
        registry.register(one)
    try:
        encoder, form = choose_encoder(",".join(one for one in accept.split(",") if not _is_refused(one)))
    except (TypeError, ValueError):  # a version that is none
        encoder, form = generate_latest, CONTENT_TYPE_PLAIN_0_0_4
    return Response(encoder(registry), headers={"Content-Type": form, "Vary": "Accept"})
