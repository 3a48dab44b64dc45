"""Reading slurm.conf into `rota.model.ClusterConfig`."""

from rota.config.default import interchangeable, this_machine
from rota.config.slurm_conf import LoadedConfig, read_slurm_conf

__all__ = ["LoadedConfig", "interchangeable", "read_slurm_conf", "this_machine"]
