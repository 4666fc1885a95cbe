"""What goes wrong on purpose: which ad, on which day, how, and by how much. README.md lists the last day's.

An anomaly lasts one day. Ads that ran for less than ten days before it are left alone, so that each has a day before.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from scene_kb.catalogs.ads import vocabulary as words
from scene_kb.catalogs.ads.world import DAYS, Ads, Floats, Ints

Kind = Literal["spendSpike", "spendDrop", "conversionLoss", "complaintSurge"]

LAST_DAY_SPIKES = {"A": 12, "B": 8, "C": 8, "D": 8, "E": 8}
LAST_DAY_DROPS = 4
LAST_DAY_CONVERSION_LOSSES = 3
LAST_DAY_COMPLAINT_SURGES = 2

_DAYS_BETWEEN_EARLIER_ONES = 5
_DAYS_BEFORE = 10


@dataclass(frozen=True)
class Anomaly:
    ad: int
    day: int
    kind: Kind
    factor: float
    """On the day's spend, on its conversions after the click, or on its complaints."""


def plan_anomalies(rng: np.random.Generator, ads: Ads) -> tuple[Anomaly, ...]:
    """Some for every channel on the last day, and one spend anomaly every few days before it."""
    return (*_earlier(rng, ads), *_last_day(rng, ads))


def daily_factors(anomalies: tuple[Anomaly, ...], kinds: tuple[Kind, ...], ads: int) -> Floats:
    """(ads, days): 1.0 but where an anomaly of one of `kinds` stands."""
    factors = np.ones((ads, DAYS))
    for it in anomalies:
        if it.kind in kinds:
            factors[it.ad, it.day] = it.factor
    return factors


def _last_day(rng: np.random.Generator, ads: Ads) -> Iterator[Anomaly]:
    day = DAYS - 1
    for position, channel in enumerate(words.CHANNELS):
        spikes = LAST_DAY_SPIKES[channel.code]
        chosen = iter(rng.permutation(_steady(ads, position, day)).tolist())
        for factor in np.geomspace(2.3, 7.5, spikes) * rng.uniform(0.96, 1.04, spikes):
            yield Anomaly(next(chosen), day, "spendSpike", float(factor))
        for factor in rng.uniform(0.04, 0.30, LAST_DAY_DROPS):
            yield Anomaly(next(chosen), day, "spendDrop", float(factor))
        for factor in rng.uniform(0.05, 0.15, LAST_DAY_CONVERSION_LOSSES):
            yield Anomaly(next(chosen), day, "conversionLoss", float(factor))
        for factor in rng.uniform(15.0, 30.0, LAST_DAY_COMPLAINT_SURGES):
            yield Anomaly(next(chosen), day, "complaintSurge", float(factor))


def _earlier(rng: np.random.Generator, ads: Ads) -> Iterator[Anomaly]:
    for day in range(_DAYS_BETWEEN_EARLIER_ONES, DAYS - _DAYS_BETWEEN_EARLIER_ONES, _DAYS_BETWEEN_EARLIER_ONES):
        for position in range(len(words.CHANNELS)):
            ad = int(rng.choice(_steady(ads, position, day)))
            if rng.random() < 0.7:
                yield Anomaly(ad, day, "spendSpike", float(rng.uniform(2.3, 7.5)))
            else:
                yield Anomaly(ad, day, "spendDrop", float(rng.uniform(0.04, 0.30)))


def _steady(ads: Ads, channel: int, day: int) -> Ints:
    """Ads of the channel that run on the day, have run for a while, and spend enough to be looked at."""
    running = (ads.start <= day - _DAYS_BEFORE) & (ads.end >= day) & (ads.scale >= 600.0)
    return np.flatnonzero(running & (ads.channel == channel)).astype(np.int64)
