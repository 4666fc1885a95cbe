"""Who advertises what, where and from when: the ads and materials behind the table, without any daily number.

Days are whole numbers counted from FIRST_DATE; the world also holds ads that began before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from scene_kb.catalogs.ads import vocabulary as words

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FIRST_DATE = date(2026, 6, 1)
LAST_DATE = date(2026, 11, 29)
DAYS = (LAST_DATE - FIRST_DATE).days + 1

_EARLIEST = -160  # no ad lives longer than 160 days, so day 0 begins in mid-flight
_LAUNCHES = 2100
_MATERIALS_PER_PROJECT = 130
_ACCOUNTS_PER_CHANNEL = len(words.ACCOUNT_NAMES)
_BUDGET_HEADROOM = (1.04, 1.9)


@dataclass(frozen=True)
class Ads:
    """One entry an ad. Whole numbers point into the lists of `vocabulary`, into accounts, plans and projects."""

    channel: Ints
    account: Ints
    project: Ints
    line: Ints
    plan: Ints
    bid_type: Ints
    goal: Ints
    landing_page: Ints
    placement: Ints
    audience: Ints
    age_group: Ints
    gender: Ints
    region: Ints
    city_tier: Ints
    device_system: Ints
    device_brand: Ints
    team: Ints
    owner: Ints
    remark: Ints
    """-1 where there is none."""
    start: Ints
    end: Ints
    """First and last day, both inclusive; they may lie outside the table."""
    scale: Floats
    """CNY that it spends on an ordinary day once it has found its audience."""
    headroom: Floats
    """Daily budget over `scale`."""
    price: Floats
    """Its own factor on the channel's price."""
    quality: Floats
    """The channel's score of the ad, 1 to 10."""
    target_cpa: Floats

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class Materials:
    project: Ints
    type: Ints
    size: Ints
    theme: Ints
    designer: Ints
    duration: Ints
    """Seconds; 0 where it is no video."""
    created: Ints
    quality: Floats
    """Factor on clicks while it is new."""
    stamina: Floats
    """Days in which the wear on its click rate grows to 1 - 1/e."""

    def __len__(self) -> int:
        return len(self.created)


@dataclass(frozen=True)
class Placings:
    """Which material runs in which ad, from which day to which, both inclusive; `weight` is its pull on the budget."""

    ad: Ints
    material: Ints
    start: Ints
    end: Ints
    weight: Floats


@dataclass(frozen=True)
class World:
    ads: Ads
    materials: Materials
    placings: Placings


def make_world(rng: np.random.Generator) -> World:
    ads = _ads(rng)
    materials = _materials(rng)
    return World(ads, materials, _placings(rng, ads, materials))


def _ads(rng: np.random.Generator) -> Ads:
    start = np.sort(rng.integers(_EARLIEST, DAYS, _LAUNCHES))
    end = start + np.clip(rng.exponential(70.0, _LAUNCHES), 5, -_EARLIEST).astype(np.int64)
    start, end = start[end >= 0], end[end >= 0]
    n = len(start)
    channel = _pick(rng, words.each(words.CHANNELS, "weight"), n)
    project = _pick(rng, words.each(words.PROJECTS, "weight"), n)
    line_names = [line.name for line in words.LINES]
    line = np.array([line_names.index(it.line) for it in words.PROJECTS], dtype=np.int64)[project]
    account = channel * _ACCOUNTS_PER_CHANNEL + rng.integers(0, _ACCOUNTS_PER_CHANNEL, n)
    plan = np.unique((account * len(words.PROJECTS) + project) * 2 + rng.integers(0, 2, n), return_inverse=True)[1]
    plans = int(plan.max()) + 1
    system = _pick(rng, (0.58, 0.27, 0.15), n)
    brand = np.where(system == 1, 0, np.where(system == 2, 1, rng.integers(2, len(words.DEVICE_BRANDS), n)))
    team = np.where(account % _ACCOUNTS_PER_CHANNEL == 2, len(words.TEAMS) - 1, project % (len(words.TEAMS) - 1))
    return Ads(
        channel=channel,
        account=account,
        project=project,
        line=line,
        plan=plan.astype(np.int64),
        bid_type=_pick(rng, words.BID_TYPE_WEIGHTS, plans)[plan],
        goal=_pick(rng, words.GOAL_WEIGHTS, plans)[plan],
        landing_page=_pick(rng, words.LANDING_PAGE_WEIGHTS, n),
        placement=_pick(rng, words.each(words.PLACEMENTS, "weight"), n),
        audience=_pick(rng, words.each(words.AUDIENCES, "weight"), n),
        age_group=rng.integers(0, len(words.AGE_GROUPS), n),
        gender=_pick(rng, (0.5, 0.27, 0.23), n),
        region=_pick(rng, words.each(words.REGIONS, "weight"), n),
        city_tier=rng.integers(0, len(words.CITY_TIERS), n),
        device_system=system,
        device_brand=brand,
        team=team,
        owner=team * 3 + rng.integers(0, len(words.OWNERS) // len(words.TEAMS), n),
        remark=np.where(rng.random(n) < 0.06, rng.integers(0, len(words.REMARKS), n), -1),
        start=start,
        end=end,
        scale=1400.0 * rng.lognormal(0.0, 0.75, n),
        headroom=rng.uniform(*_BUDGET_HEADROOM, n),
        price=rng.lognormal(0.0, 0.15, n),
        quality=rng.uniform(4.5, 9.5, n),
        target_cpa=words.each(words.LINES, "cpa")[line] * rng.uniform(0.8, 1.25, n),
    )


def _materials(rng: np.random.Generator) -> Materials:
    n = _MATERIALS_PER_PROJECT * len(words.PROJECTS)
    kind = _pick(rng, words.MATERIAL_TYPE_WEIGHTS, n)
    order = np.sort(rng.integers(_EARLIEST - 30, DAYS, n))
    return Materials(
        project=rng.permutation(np.arange(n) % len(words.PROJECTS)),
        type=kind,
        size=_pick(rng, words.MATERIAL_SIZE_WEIGHTS, n),
        theme=rng.integers(0, len(words.MATERIAL_THEMES), n),
        designer=rng.integers(0, len(words.DESIGNERS), n),
        duration=np.where(kind == 0, rng.choice((8, 12, 15, 20, 28, 35, 45, 60, 75, 90), n), 0),
        created=order,
        quality=rng.lognormal(0.0, 0.22, n),
        stamina=rng.uniform(12.0, 55.0, n),
    )


def _placings(rng: np.random.Generator, ads: Ads, materials: Materials) -> Placings:
    """Each ad starts with a fresh material of its project and takes up to four more, some made while it runs."""
    of_project = [np.flatnonzero(materials.project == it) for it in range(len(words.PROJECTS))]
    ad_column: list[int] = []
    material_column: list[int] = []
    for ad in range(len(ads)):
        pool = of_project[ads.project[ad]]
        created = materials.created[pool]
        first = max(0, int(np.searchsorted(created, ads.start[ad], side="right")) - 1)
        last = int(np.searchsorted(created, min(ads.end[ad], ads.start[ad] + 25), side="right"))
        others = np.setdiff1d(np.arange(max(0, first - 8), last), [first])
        taken = [first, *rng.permutation(others)[: rng.integers(1, 5)]]
        ad_column += [ad] * len(taken)
        material_column += [int(pool[it]) for it in taken]
    ad_index, material = np.array(ad_column, dtype=np.int64), np.array(material_column, dtype=np.int64)
    return Placings(
        ad=ad_index,
        material=material,
        start=np.maximum(ads.start[ad_index], materials.created[material]),
        end=ads.end[ad_index],
        weight=rng.lognormal(0.0, 0.5, len(ad_index)),
    )


def _pick(rng: np.random.Generator, weights: Sequence[float] | Floats, n: int) -> Ints:
    """`n` positions in a list of these weights."""
    share = np.asarray(weights) / np.sum(weights)
    return rng.choice(len(share), n, p=share).astype(np.int64)
