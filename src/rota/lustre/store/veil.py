"""Pseudonyms: a store that is shown to others tells jobs and users apart, and does not say who they are.

What is kept stays as it is, and the same text is the same pseudonym for as long as the store has its key. A job's
pseudonym is its number in the store, that of anything else a keyed hash of it.
"""

from __future__ import annotations

import hmac
import json
import os
import re
from typing import TYPE_CHECKING, Any

from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

#: Stands for all that is known of jobs, their ids included.
ALL = "all"
#: The field that is a job's id.
JOB = "job"
KEY_FILE = "pseudonyms.key"
_KEY_BYTES, _DIGITS = 32, 12
_JOB = re.compile(r"job-(\d{1,10})", re.ASCII).fullmatch


class Veil:
    """Gives pseudonyms.

    Args:
        key: Of the hash; who has it can find out who is meant.
        fields: What is hidden: names of fields, `JOB`, or `ALL`.
    """

    def __init__(self, key: bytes, fields: Collection[str]) -> None:
        self._key = key
        self._fields = frozenset(fields)
        #: Whether ids of jobs are hidden.
        self.hides_jobs = self._hides(JOB)

    def _hides(self, field: str) -> bool:
        return ALL in self._fields or field in self._fields

    def fields(self, known: Mapping[str, Any]) -> Mapping[str, Any]:
        """Give what is known of a job, with pseudonyms; what is empty stays so."""
        return {
            field: self._of(field, value) if value not in (None, "") and self._hides(field) else value
            for field, value in known.items()
        }

    def _of(self, field: str, value: object) -> str:
        text = json.dumps([field, value], sort_keys=True).encode()
        return f"{field}-{hmac.digest(self._key, text, 'sha256').hex()[:_DIGITS]}"

    @staticmethod
    def job_of(code: int) -> str:
        """Give the pseudonym of a job by its number."""
        return f"{JOB}-{code}"

    @staticmethod
    def code_of(pseudonym: str) -> int | None:
        """Give the number of a job by its pseudonym; ``None``: it is none."""
        found = _JOB(pseudonym)
        return None if found is None else int(found[1])


def veil_of(folder: Path, fields: Collection[str]) -> Veil:
    """Make the veil of a store; its key is made with the first one.

    Args:
        folder: Directory of the store.
        fields: What is hidden.

    Raises:
        InputError: the key cannot be read or made.
    """
    path = folder / KEY_FILE
    try:
        if not path.exists():
            made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(made, "wb") as file:
                file.write(os.urandom(_KEY_BYTES))
        key = path.read_bytes()
    except OSError as error:
        raise InputError(f"the key of pseudonyms cannot be used: {error.strerror}", path=path) from None
    if len(key) != _KEY_BYTES:
        raise InputError("this is no key of pseudonyms: remove it, and all get new ones", path=path)
    return Veil(key, fields)
