"""Reading slurm.conf into `rota.model.ClusterConfig`."""

from rota.config.default import interchangeable
from rota.config.partitions import with_keys
from rota.config.slurm_conf import LoadedConfig, read_slurm_conf, with_settings
from rota.config.this_machine import this_machine

__all__ = ["LoadedConfig", "interchangeable", "read_slurm_conf", "this_machine", "with_keys", "with_settings"]
