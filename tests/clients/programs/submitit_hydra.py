"""A program for hydra, which runs it for several numbers by submitit: writes the square of each."""

from pathlib import Path

import hydra
from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig

ConfigStore.instance().store("config", {"number": 1})


@hydra.main(version_base=None, config_name="config")
def main(config: DictConfig) -> None:
    """Square a number."""
    Path("square").write_text(str(config.number**2))


if __name__ == "__main__":
    main()
