"""The page of the service that tells who loads a Lustre file system.

It is one page. What it shows is in its address, so that it can be kept as a bookmark or sent to a colleague:
``last`` (seconds) or ``begin`` and ``end`` (Unix seconds), ``metric``, ``by``, ``top``, and ``where`` for each filter.
What jobs and users are called is never put into its HTML, only into texts; and it may load and ask nothing but what
this service has.
"""

from rota.web.lustre.pages import lustre_pages

__all__ = ["lustre_pages"]
