"""``--mail-type`` and ``--mail-user``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rota.commands.option_error import OptionError
from rota.model.mail import parse_mail_types

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Addresses that no mail program takes for an option, a file or a command, nor a header for more than an address.
_ADDRESSES = re.compile(r"\w[\w.%+=@-]*(,\w[\w.%+=@-]*)*")


def mail_options(texts: Mapping[str, str]) -> tuple[str, str]:
    """Give whom a job has mail sent to, and its types; empty: its user, and none.

    Args:
        texts: Values of options by name.

    Raises:
        OptionError: they are no addresses, or no types.
    """
    user = texts.get("mail-user", "")
    if user and not _ADDRESSES.fullmatch(user):
        raise OptionError("--mail-user", f"{user!r} is no user or address, nor several with commas")
    try:
        types = parse_mail_types(texts["mail-type"]) if "mail-type" in texts else ()
    except ValueError as error:
        raise OptionError("--mail-type", str(error)) from None
    return user, ",".join(types)
