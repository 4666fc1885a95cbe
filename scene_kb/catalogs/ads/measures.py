"""The numbers of every (day, ad, material): what was spent, seen, clicked and earned.

Pure: a world, its anomalies and a generator in, arrays out. Whole counts are int64, money is int64 fen (1/100 CNY).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scene_kb.catalogs.ads import vocabulary as words
from scene_kb.catalogs.ads.anomalies import Anomaly, daily_factors
from scene_kb.catalogs.ads.world import DAYS, FIRST_DATE, Ads, Floats, Ints, World

_RAMP = np.array([0.45, 0.70, 0.88])  # an ad's spend on its first three days, against its ordinary day
_PREDICTED_DAYS = 90
_FEN = 100.0


@dataclass(frozen=True)
class Rows:
    """One entry a row of the table, in its order: by day, ad, material."""

    day: Ints
    ad: Ints
    material: Ints
    placing: Ints

    def __len__(self) -> int:
        return len(self.day)


@dataclass(frozen=True)
class Measures:
    counts: Mapping[str, Ints]
    fen: Mapping[str, Ints]


def rows_of(world: World, first_day: int) -> Rows:
    """Every day from `first_day` on which a material runs in an ad."""
    placings = world.placings
    start, end = np.maximum(placings.start, first_day), np.minimum(placings.end, DAYS - 1)
    days = np.maximum(end - start + 1, 0)
    placing = np.repeat(np.arange(len(days)), days)
    day = np.arange(len(placing)) - np.repeat(np.cumsum(days) - days, days) + start[placing]
    ad, material = placings.ad[placing], placings.material[placing]
    order = np.lexsort((material, ad, day))
    return Rows(day[order], ad[order], material[order], placing[order])


def measure(world: World, anomalies: tuple[Anomaly, ...], rows: Rows, rng: np.random.Generator) -> Measures:
    spend = daily_spend(world.ads, anomalies, rng)
    counts: dict[str, Ints] = {}
    fen: dict[str, Ints] = {}
    freshness = _freshness(world, rows)
    _money_spent(world, anomalies, rows, rng, spend, freshness, fen)
    _traffic(world, rows, rng, freshness, fen["cost"], counts)
    _video(world, rows, rng, counts)
    _conversions(world, anomalies, rows, rng, counts)
    _engagement(world, anomalies, rows, rng, counts)
    _money_earned(world, rows, rng, counts, fen)
    fen["account_balance"] = _balances(world.ads, spend)[world.ads.account[rows.ad], rows.day]
    return Measures(counts, fen)


def daily_spend(ads: Ads, anomalies: tuple[Anomaly, ...], rng: np.random.Generator) -> Floats:
    """(ads, days) CNY; 0 outside an ad's life. Seasons are the same whichever days are then written out."""
    day = np.arange(DAYS)
    age = day[None, :] - ads.start[:, None]
    living = (age >= 0) & (day[None, :] <= ads.end[:, None])
    ramp = np.where(age < len(_RAMP), _RAMP[np.clip(age, 0, len(_RAMP) - 1)], 1.0)
    weekend = words.each(words.LINES, "weekend")[ads.line][:, None]
    promotion = words.each(words.LINES, "promotion")[ads.line][:, None]
    season = 1.0 + 0.12 * np.sin((day - 20) / DAYS * 2 * np.pi)
    calendar = np.where(is_weekend(day), weekend, 1.0) * np.where(is_promotion(day), promotion, 1.0) * season
    noise = rng.lognormal(0.0, 0.07, (len(ads), DAYS))
    odd = daily_factors(anomalies, ("spendSpike", "spendDrop"), len(ads))
    return np.where(living, ads.scale[:, None] * ramp * calendar * noise * odd, 0.0)


def weekday(day: Ints) -> Ints:
    """1 is Monday."""
    return (day + FIRST_DATE.weekday()) % 7 + 1


def is_weekend(day: Ints) -> NDArray[np.bool_]:
    return weekday(day) >= 6


def is_promotion(day: Ints) -> NDArray[np.bool_]:
    spans = [((first - FIRST_DATE).days, (last - FIRST_DATE).days) for first, last in words.PROMOTIONS]
    held: NDArray[np.bool_] = np.any([(day >= first) & (day <= last) for first, last in spans], axis=0)
    return held


def _freshness(world: World, rows: Rows) -> Floats:
    """How much of a material's first appeal is left: 1 when new, falling towards 0.35 with its age."""
    age = rows.day - world.materials.created[rows.material]
    return 0.35 + 0.65 * np.exp(-age / world.materials.stamina[rows.material])


def _money_spent(
    world: World,
    anomalies: tuple[Anomaly, ...],
    rows: Rows,
    rng: np.random.Generator,
    spend: Floats,
    freshness: Floats,
    fen: dict[str, Ints],
) -> None:
    """An ad's daily spend and budget, divided among its materials: the fresher one gets more."""
    ads, n = world.ads, len(rows)
    weight = world.placings.weight[rows.placing] * (0.5 + freshness)
    group = rows.ad * DAYS + rows.day
    part = weight / np.bincount(group, weights=weight)[group]
    spikes = daily_factors(anomalies, ("spendSpike",), len(ads))[rows.ad, rows.day]  # somebody raised the budget
    day_budget = np.round(ads.scale * ads.headroom / 50.0)[rows.ad] * 50.0 * spikes
    cost = _fen(spend[rows.ad, rows.day] * part * rng.lognormal(0.0, 0.03, n))
    gift = np.round(cost * (0.04 * (ads.account % 4))[rows.ad]).astype(np.int64)
    rebate = words.each(words.CHANNELS, "rebate")[ads.channel][rows.ad]
    fen["cost"] = cost
    fen["cash_cost"] = cost - gift
    fen["gift_cost"] = gift
    fen["budget"] = _fen(day_budget * part)
    fen["rebate"] = np.round((cost - gift) * rebate).astype(np.int64)
    fen["bid"] = _fen(ads.target_cpa[rows.ad] * rng.lognormal(0.0, 0.04, n) * np.where(spikes > 1.0, 1.4, 1.0))
    fen["target_cpa"] = _fen(ads.target_cpa[rows.ad])
    fen["quality_score"] = _fen(np.clip(ads.quality[rows.ad] + 0.8 * (freshness - 0.7), 1.0, 10.0))


def _traffic(
    world: World, rows: Rows, rng: np.random.Generator, freshness: Floats, cost: Ints, counts: dict[str, Ints]
) -> None:
    ads, materials, n = world.ads, world.materials, len(rows)
    price = ads.price * words.each(words.CHANNELS, "cpm")[ads.channel]
    price *= words.each(words.PLACEMENTS, "price")[ads.placement]
    price *= words.each(words.AUDIENCES, "price")[ads.audience]
    price *= words.each(words.REGIONS, "price")[ads.region]
    appeal = words.each(words.CHANNELS, "ctr")[ads.channel]
    appeal *= words.each(words.PLACEMENTS, "appeal")[ads.placement]
    liking = materials.quality[rows.material] * freshness * rng.lognormal(0.0, 0.05, n)
    ctr = np.clip(appeal[rows.ad] * liking, 0.0, 0.5)
    impressions = np.rint(cost / _FEN / price[rows.ad] * 1000.0 * rng.lognormal(0.0, 0.04, n)).astype(np.int64)
    clicks = rng.binomial(impressions, ctr)
    invalid = words.each(words.CHANNELS, "invalid")[ads.channel][rows.ad]
    frequency = 1.15 + np.minimum(rows.day - ads.start[rows.ad], 90) * 0.012
    counts["impressions"] = impressions
    counts["reach"] = np.rint(impressions / frequency).astype(np.int64)
    counts["clicks"] = clicks
    counts["invalid_clicks"] = rng.binomial(clicks, invalid)
    counts["landing_views"] = rng.binomial(clicks, 0.87)


def _video(world: World, rows: Rows, rng: np.random.Generator, counts: dict[str, Ints]) -> None:
    """Plays and how far people watched; all zero for what is no video."""
    materials = world.materials
    seconds = materials.duration[rows.material]
    hook = np.clip(0.52 * materials.quality[rows.material], 0.05, 0.95)
    patience = np.clip(0.93 - seconds / 220.0, 0.2, 0.95)
    plays = rng.binomial(counts["impressions"], np.where(seconds > 0, 0.64, 0.0))
    watched = {"video_plays": plays, "video_plays_3s": rng.binomial(plays, hook)}
    for name, before, factor in (
        ("video_plays_25", "video_plays_3s", 0.98),
        ("video_plays_50", "video_plays_25", 0.90),
        ("video_plays_75", "video_plays_50", 0.93),
        ("video_completes", "video_plays_75", 0.96),
    ):
        watched[name] = rng.binomial(watched[before], patience * factor)
    counts.update(watched)
    left_early = plays - watched["video_completes"]
    counts["video_watch_seconds"] = np.rint((watched["video_completes"] + 0.22 * left_early) * seconds).astype(np.int64)


def _conversions(
    world: World, anomalies: tuple[Anomaly, ...], rows: Rows, rng: np.random.Generator, counts: dict[str, Ints]
) -> None:
    """From the landing page to orders and returning users. Each step is drawn from the one before it."""
    ads = world.ads
    line = {name: words.each(words.LINES, name)[ads.line][rows.ad] for name in _RATES}
    audience = words.each(words.AUDIENCES, "conversion")[ads.audience][rows.ad]
    lost = daily_factors(anomalies, ("conversionLoss",), len(ads))[rows.ad, rows.day]
    pull = audience * lost * rng.lognormal(0.0, 0.05, len(rows))

    def draw(of: str, rate: Floats | float) -> Ints:
        return rng.binomial(counts[of], np.clip(rate, 0.0, 0.97))

    counts["downloads"] = draw("landing_views", line["download"] * pull)
    counts["installs"] = draw("downloads", 0.93)
    counts["activations"] = draw("installs", 0.91)
    counts["registrations"] = draw("activations", line["register"])
    counts["leads"] = draw("landing_views", line["lead"] * pull)
    counts["key_actions"] = draw("activations", 0.44)
    counts["add_to_carts"] = draw("landing_views", line["cart"] * pull)
    counts["orders"] = draw("add_to_carts", line["order"])
    counts["first_pays"] = draw("registrations", line["first_pay"] * audience)
    counts["pays"] = counts["first_pays"] + rng.poisson(counts["first_pays"] * 0.8)
    counts["refunds"] = draw("orders", line["refund"])
    buyers = counts["orders"] + counts["first_pays"]
    counts["new_customers"] = rng.binomial(buyers, words.each(words.AUDIENCES, "new")[ads.audience][rows.ad])
    counts["returning_customers"] = buyers - counts["new_customers"]
    counts["coupons_claimed"] = draw("landing_views", line["coupon"])
    counts["coupons_used"] = draw("coupons_claimed", 0.37)
    age = _age_of_data(rows)
    for name, days, factor in (("retained_d1", 1, 1.0), ("retained_d7", 7, 0.45), ("retained_d30", 30, 0.22)):
        counts[name] = np.where(age >= days, draw("activations", line["retention"] * factor), 0)
    counts["conversions"] = counts["activations"] + counts["leads"] + counts["orders"]


_RATES = ("download", "register", "lead", "cart", "order", "first_pay", "refund", "coupon", "retention")


def _engagement(
    world: World, anomalies: tuple[Anomaly, ...], rows: Rows, rng: np.random.Generator, counts: dict[str, Ints]
) -> None:
    seen = counts["impressions"]
    social = np.where(np.isin(world.ads.channel, (0, 4)), 2.4, 0.6)[rows.ad] * world.materials.quality[rows.material]
    surge = daily_factors(anomalies, ("complaintSurge",), len(world.ads))[rows.ad, rows.day]
    counts["likes"] = rng.binomial(seen, 0.0021 * social)
    counts["comments"] = rng.binomial(seen, 0.00038 * social)
    counts["negative_comments"] = rng.binomial(counts["comments"], 0.11)
    counts["shares"] = rng.binomial(seen, 0.00027 * social)
    counts["follows"] = rng.binomial(seen, 0.00016 * social)
    counts["complaints"] = rng.binomial(seen, np.clip(0.000012 * surge, 0.0, 0.01))


def _money_earned(
    world: World, rows: Rows, rng: np.random.Generator, counts: dict[str, Ints], fen: dict[str, Ints]
) -> None:
    ads, n, age = world.ads, len(rows), _age_of_data(rows)
    line = {name: words.each(words.LINES, name)[ads.line][rows.ad] for name in ("order_value", "day_value", "growth")}
    gmv = counts["orders"] * line["order_value"] * rng.lognormal(0.0, 0.10, n)
    first_day = counts["activations"] * line["day_value"] * rng.lognormal(0.0, 0.12, n)

    def revenue(days: Ints | int) -> Ints:
        """Earned within so many days, as far as they have passed; so it never falls with more days."""
        return _fen(first_day * (1.0 + line["growth"] * np.log1p(np.minimum(days, age))))

    fen["revenue_d0"], fen["revenue_d1"] = revenue(0), revenue(1)
    fen["revenue_d7"], fen["revenue_d30"] = revenue(7), revenue(30)
    guess = (1.0 + line["growth"] * np.log1p(_PREDICTED_DAYS)) * rng.uniform(0.9, 1.1, n)
    fen["predicted_revenue"] = _fen(first_day * guess)
    fen["gmv"] = _fen(gmv)
    fen["refund_amount"] = _fen(gmv * counts["refunds"] / np.maximum(counts["orders"], 1))
    fen["coupon_amount"] = _fen(counts["coupons_used"] * rng.choice((5.0, 10.0, 15.0), n))
    fen["commission"] = np.round(fen["gmv"] * 0.05).astype(np.int64)
    invalid = counts["invalid_clicks"] / np.maximum(counts["clicks"], 1)
    fen["invalid_cost"] = np.round(fen["cost"] * invalid).astype(np.int64)


def _age_of_data(rows: Rows) -> Ints:
    """Whole days that have passed since the row's day."""
    return DAYS - 1 - rows.day


def _balances(ads: Ads, spend: Floats) -> Ints:
    """(accounts, days) fen at the end of the day. An account is topped up when it holds less than four days' spend."""
    accounts = int(ads.account.max()) + 1
    daily = np.zeros((accounts, DAYS))
    np.add.at(daily, ads.account, spend)
    usual = daily.mean(axis=1)
    balance = usual * (6.0 + np.arange(accounts) % 5)
    balances = np.empty_like(daily)
    for day in range(DAYS):
        balance = balance - daily[:, day]
        balance = np.where(balance < 4.0 * usual, balance + 10.0 * usual, balance)
        balances[:, day] = balance
    return _fen(balances)


def _fen(yuan: Floats) -> Ints:
    return np.rint(yuan * _FEN).astype(np.int64)
