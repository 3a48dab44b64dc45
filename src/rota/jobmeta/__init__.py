"""Names for job ids: who owns a job, and what it is called, whatever scheduler gave its id.

Plugins of type ``jobmeta`` (`rota.interfaces.jobmeta`) know how one scheduler is asked; this package asks them.

========================= =================================================================================
`rota.jobmeta.lookups`    the way in: answers for those who wait, and for those who do not
`rota.jobmeta.registry`   which plugins there are, and which of them an id goes to
`rota.jobmeta.desk`       what one plugin has answered, and what it is still to be asked
`rota.jobmeta.plugin`     calling one plugin
`rota.jobmeta.pairing`    which answer belongs to which id
`rota.jobmeta.run`        running one command of a scheduler
========================= =================================================================================
"""

from rota.interfaces.jobmeta import Metadata
from rota.jobmeta.lookups import Answers, Lookups

__all__ = ["Answers", "Lookups", "Metadata"]
