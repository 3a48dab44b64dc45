"""The plugin host: finds plugins, chooses among them, loads, starts and unloads them.

Everything about `PluginHost` happens in this order, one module each:

========================= =================================================================================
`rota.loader.discover`    where plugins are: ``PluginDir``, entry points, the built-in ones
`rota.loader.trust`       whose files they are
`rota.loader.identity`    what they say they are, read from the source without running it
`rota.loader.negotiate`   which API version is spoken, and which of several of one type is used
`rota.loader.load`        running the chosen one as a fresh module
`rota.loader.symbols`     whether it has every documented function
`rota.loader.loaded`      its life from ``init`` to ``fini``
========================= =================================================================================
"""

from rota.loader.candidate import Candidate, PluginRefusedError, Source
from rota.loader.discover import SearchPath, candidate_from_file, discover
from rota.loader.host import PluginHost
from rota.loader.identity import Identity
from rota.loader.load import load
from rota.loader.loaded import LoadedPlugin
from rota.loader.negotiate import Selection, State, Verdict

__all__ = [
    "Candidate",
    "Identity",
    "LoadedPlugin",
    "PluginHost",
    "PluginRefusedError",
    "SearchPath",
    "Selection",
    "Source",
    "State",
    "Verdict",
    "candidate_from_file",
    "discover",
    "load",
]
