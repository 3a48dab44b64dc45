"""What notebooks need: tables in HTML, and pandas if it is installed."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from rota.model import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable


def load_pandas() -> Any:
    """Import pandas, which is optional.

    Raises:
        InputError: it is not installed.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise InputError("pandas is not installed: pip install 'rota[pandas]', or use to_arrow()") from None
    return pd


def html_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Make a table; the first cell of each row is its label."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        f"<tr><th>{escape(label)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
        for label, *cells in rows
    )
    return f"<table>{f'<thead><tr>{top}</tr></thead>' if top else ''}<tbody>{body}</tbody></table>"
