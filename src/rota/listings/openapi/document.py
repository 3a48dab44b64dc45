"""Documents: objects with the release that they are of, and errors; and their text."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from rota.commands.slurm_messages import MESSAGES
from rota.listings.answer import RELEASE
from rota.model import Errno

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.commands.forms import Form

#: Characters that control a terminal, end a line for some reader or set its direction, and halves of characters.
_ODD = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_HALF = re.compile("[\ud800-\udfff]")
#: Errors about objects that do not exist.
_UNKNOWN = {
    "nodes": Errno.INVALID_NODE_NAME,
    "partitions": Errno.INVALID_PARTITION_NAME,
    "reservations": Errno.RESERVATION_INVALID,
}
#: The error of an answer about accounting without jobs.
_NOTHING_FOUND = {
    "description": "Nothing found",
    "error_number": 9003,
    "error": "Nothing found with query",
    "source": "slurmdb_jobs_get",
}


def document(kind: str, objects: Iterable[dict[str, Any]], *errors: dict[str, Any]) -> dict[str, Any]:
    """Put objects into a document.

    Args:
        kind: ``jobs``, ``nodes``, ``partitions``, ``reservations`` and so on.
        objects: What it holds.
        errors: What was wrong, if anything.
    """
    return {**slurm_errors(*errors), kind: list(objects)}


def slurm_errors(*errors: dict[str, Any]) -> dict[str, Any]:
    """Give a document without objects."""
    return _document("openapi/v0.0.38", "Slurm OpenAPI v0.0.38", errors)


def accounting_document(objects: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Put jobs of the accounting into a document; that there are none is an error of Slurm's."""
    jobs = list(objects)
    errors = [] if jobs else [_NOTHING_FOUND]
    return {**accounting_errors(*errors), "jobs": jobs}


def accounting_errors(*errors: dict[str, Any]) -> dict[str, Any]:
    """Give a document about accounting without objects."""
    return _document("openapi/dbv0.0.38", "Slurm OpenAPI DB v0.0.38", errors)


def not_found(kind: str, name: str) -> dict[str, Any]:
    """Describe the error that an object does not exist."""
    if kind != "jobs":
        return {"error": MESSAGES[_UNKNOWN[kind]], "errno": int(_UNKNOWN[kind])}
    return {
        "description": f"Unable to find JobId={name}",
        "error_number": int(Errno.INVALID_JOB_ID),
        "error": MESSAGES[Errno.INVALID_JOB_ID],
        "source": "slurm_load_job",
    }


def _document(plugin: str, name: str, errors: Iterable[dict[str, Any]]) -> dict[str, Any]:
    major, minor, micro = map(int, RELEASE.split("."))
    version = {"major": major, "micro": micro, "minor": minor}
    meta = {"plugin": {"type": plugin, "name": name}, "Slurm": {"version": version, "release": RELEASE}}
    return {"meta": meta, "errors": list(errors)}


def text_of(data: dict[str, Any], form: Form) -> str:
    """Format a document. Bytes of names that are no UTF-8 become U+FFFD."""
    return _yaml(data) if form == "yaml" else _json(data)


def compact_text_of(data: Any) -> str:
    """Format data in one line, as programs read it. Bytes of names that are no UTF-8 become U+FFFD."""
    return _HALF.sub("\ufffd", json.dumps(data, ensure_ascii=False, separators=(",", ":")))


def _json(data: dict[str, Any]) -> str:
    return _ODD.sub(_escape, json.dumps(data, ensure_ascii=False, indent=2)) + "\n"


def _escape(match: re.Match[str]) -> str:
    return "\ufffd" if _HALF.match(match[0]) else f"\\u{ord(match[0]):04x}"


def _yaml(data: dict[str, Any]) -> str:
    import yaml

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc] # without libyaml it is slow
        def ignore_aliases(self, _: Any) -> bool:
            return True

        def text(self, text: str) -> Any:
            return self.represent_scalar("tag:yaml.org,2002:str", _HALF.sub("\ufffd", text))

    Dumper.add_representer(str, Dumper.text)
    found: str = yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=2**30)
    return found
