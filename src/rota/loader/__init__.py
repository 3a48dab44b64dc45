"""The plugin host: finds plugins, chooses among them, loads, starts and unloads them.

`PluginHost` takes these steps, with a module for each:

========================= =================================================================================
`rota.loader.discover`    find plugins: in ``PluginDir``, as entry points, and the built-in ones
`rota.loader.trust`       check the owners and permissions of their files
`rota.loader.identity`    read their identity symbols from the source, without running it
`rota.loader.negotiate`   determine the common API version, and choose among plugins of one type
`rota.loader.load`        run the chosen one as a new module
`rota.loader.symbols`     check that it has every documented function
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
