"""The configuration of multifactor priorities: the ``Priority…`` keys of slurm.conf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.model.priority import PriorityWeights
from rota.model.tres import parse_tres_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.model.cluster import ClusterConfig

#: ``PriorityFlags``. ``compat`` and ``V100`` are rota's own: see docs/plugins/multifactor.md.
FLAGS = (
    "ACCRUE_ALWAYS",
    "CALCULATE_RUNNING",
    "COMPAT",
    "DEPTH_OBLIVIOUS",
    "FAIR_TREE",
    "INCR_ONLY",
    "MAX_TRES",
    "MAX_TRES_GRES",
    "NO_FAIR_TREE",
    "NO_NORMAL_ALL",
    "NO_NORMAL_ASSOC",
    "NO_NORMAL_PART",
    "NO_NORMAL_QOS",
    "NO_NORMAL_TRES",
    "SMALL_RELATIVE_TO_TIME",
    "V100",
)
RESET_PERIODS = ("NONE", "NOW", "DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY")
_NO_NORMAL = frozenset({"NO_NORMAL_ASSOC", "NO_NORMAL_PART", "NO_NORMAL_QOS", "NO_NORMAL_TRES"})
_MAX_32 = 2**32 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MultifactorConf:
    """The configuration in force; times in seconds."""

    weights: PriorityWeights
    #: Flags in force, those that others imply included.
    flags: frozenset[str]
    #: ``PriorityMaxAge``: the wait after which the age factor is 1; at least 1 s.
    max_age: int
    #: ``PriorityDecayHalfLife``; 0: usage does not decay.
    half_life: int
    calc_period: int
    #: ``PriorityUsageResetPeriod``: one of `RESET_PERIODS`.
    reset_period: str
    #: ``FairShareDampeningFactor``.
    damping: float
    favor_small: bool

    @property
    def fair_tree(self) -> bool:
        """Whether fair-share is computed by Fair Tree."""
        return "FAIR_TREE" in self.flags

    @classmethod
    def of(cls, config: ClusterConfig, tres: Sequence[str]) -> MultifactorConf:
        """Read the configuration.

        Args:
            config: slurm.conf.
            tres: Names of the cluster's TRES.

        Raises:
            InputError: a value cannot be used. The text names file and line of the key where they are known.
        """
        half_life, reset_period = config.half_life(), _word(config, "PriorityUsageResetPeriod", RESET_PERIODS)
        if half_life == 0 and reset_period == "NONE":
            raise config.error(
                "PriorityDecayHalfLife",
                "with 0 usage never fades, and without PriorityUsageResetPeriod it is never reset: set one of the two",
            )
        damping = _damping(config)
        return cls(
            weights=_weights(config, tres),
            flags=_flags(config),
            max_age=config.seconds("PriorityMaxAge", 7 * 86400) or 1,
            half_life=half_life,
            calc_period=config.seconds("PriorityCalcPeriod", 300, least=60),
            reset_period=reset_period,
            damping=damping,
            favor_small=_word(config, "PriorityFavorSmall", ("NO", "YES")) == "YES",
        )


def _weights(config: ClusterConfig, tres: Sequence[str]) -> PriorityWeights:
    def weight(name: str) -> int:
        key = f"PriorityWeight{name}"
        text = config.get(key, "0")
        if not text.isascii() or not text.isdigit() or int(text) > _MAX_32:
            raise config.error(key, f"{text!r} is not a whole number from 0 to {_MAX_32}")
        return int(text)

    try:
        tres_weights = parse_tres_weights(config.get("PriorityWeightTRES"), tres)
    except ValueError as error:
        raise config.error("PriorityWeightTRES", str(error)) from None
    return PriorityWeights(
        age=weight("Age"),
        assoc=weight("Assoc"),
        fairshare=weight("Fairshare"),
        job_size=weight("JobSize"),
        partition=weight("Partition"),
        qos=weight("QOS"),
        tres=tres_weights,
        tres_text=config.get("PriorityWeightTRES"),
    )


def _flags(config: ClusterConfig) -> frozenset[str]:
    given = {word.strip().upper() for word in config.get("PriorityFlags").split(",") if word.strip()}
    unknown = given - set(FLAGS)
    if unknown:
        raise config.error("PriorityFlags", f"no flag {', '.join(sorted(unknown))}: there are {', '.join(FLAGS)}")
    if "NO_NORMAL_ALL" in given:
        given |= _NO_NORMAL
    if {"NO_FAIR_TREE", "DEPTH_OBLIVIOUS", "V100"} & given:
        given.discard("FAIR_TREE")
    else:
        given.add("FAIR_TREE")
    if "MAX_TRES_GRES" in given:
        given.discard("MAX_TRES")
    return frozenset(given)


def _damping(config: ClusterConfig) -> float:
    text = config.get("FairShareDampeningFactor", "1")
    try:
        damping = float(text)
    except ValueError:
        damping = 0.0
    if not 1 <= damping < float("inf"):
        raise config.error("FairShareDampeningFactor", f"{text!r} is not a number of at least 1")
    return damping


def _word(config: ClusterConfig, key: str, words: Sequence[str]) -> str:
    text = config.get(key, words[0]).upper()
    if text not in words:
        raise config.error(key, f"{config.get(key)!r} is none of {', '.join(words)}")
    return text
