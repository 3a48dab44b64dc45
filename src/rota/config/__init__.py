"""slurm.conf in, `rota.model.ClusterConfig` out: the one configuration, for replay and live alike."""

from rota.config.default import interchangeable, this_machine
from rota.config.slurm_conf import LoadedConfig, read_slurm_conf

__all__ = ["LoadedConfig", "interchangeable", "read_slurm_conf", "this_machine"]
