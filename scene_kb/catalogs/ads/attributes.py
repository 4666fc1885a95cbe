"""The dimension columns of the table: ids, names, attributes and calendar of every row, as Arrow arrays."""

from collections.abc import Callable, Sequence
from datetime import date

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scene_kb.catalogs.ads import vocabulary as words
from scene_kb.catalogs.ads.measures import Measures, Rows, is_promotion, is_weekend, weekday
from scene_kb.catalogs.ads.world import FIRST_DATE, Ints, World

_EPOCH_DAYS = (FIRST_DATE - date(1970, 1, 1)).days
_NEW_AD_DAYS, _NEW_MATERIAL_DAYS, _LEARNING_DAYS = 3, 7, 5
_BANDS = (15, 30, 60)


def attributes(world: World, rows: Rows, measures: Measures) -> dict[str, pa.Array]:
    return {**_calendar(rows), **_ad(world, rows, measures), **_targeting(world, rows), **_material(world, rows)}


def _calendar(rows: Rows) -> dict[str, pa.Array]:
    return {
        "date": _dates(rows.day),
        "weekday": pa.array(weekday(rows.day).astype(np.int32)),
        "is_weekend": pa.array(is_weekend(rows.day)),
        "is_promotion": pa.array(is_promotion(rows.day)),
    }


def _ad(world: World, rows: Rows, measures: Measures) -> dict[str, pa.Array]:
    ads, ad = world.ads, rows.ad
    age = rows.day - ads.start[ad]
    accounts = [(channel, name) for channel in words.CHANNELS for name in words.ACCOUNT_NAMES]
    names = [_ad_name(world, it) for it in range(len(ads))]
    spent_up = measures.fen["cost"] >= 0.97 * measures.fen["budget"]
    status = np.where(rows.day == ads.end[ad], 2, np.where(spent_up, 1, 0))
    failed = ads.quality[ad] < 5.0
    learning = np.where(age < _LEARNING_DAYS, 0, np.where(failed, 2, 1))
    return {
        "channel": _named(ads.channel[ad], [it.code for it in words.CHANNELS]),
        "channel_name": _named(ads.channel[ad], [it.name for it in words.CHANNELS]),
        "account_id": _numbered("acc", 1, 2, ads.account)(ad),
        "account_name": _named(ads.account[ad], [f"{channel.name}{name}" for channel, name in accounts]),
        "account_contact": _named(ads.account[ad], [f"010-5550-{100 + it:04d}" for it in range(len(accounts))]),
        "project_id": _numbered("prj", 1, 2, ads.project)(ad),
        "project_name": _named(ads.project[ad], [it.name for it in words.PROJECTS]),
        "product_line": _named(ads.line[ad], [it.name for it in words.LINES]),
        "plan_id": _numbered("p", 3001, 4, ads.plan)(ad),
        "plan_name": _plan_names(world)(ad),
        "bid_type": _named(ads.bid_type[ad], words.BID_TYPES),
        "optimisation_goal": _named(ads.goal[ad], words.GOALS),
        "ad_id": _numbered("a", 10001, 5, np.arange(len(ads)))(ad),
        "ad_name": _named(ad, names),
        "ad_status": _named(status, ("active", "budget_limited", "paused")),
        "learning_phase": _named(learning, ("learning", "passed", "failed")),
        "ad_launch_date": _dates(ads.start[ad]),
        "ad_age_days": pa.array(age.astype(np.int32)),
        "is_new_ad": pa.array(age < _NEW_AD_DAYS),
        "ad_remark": _named(ads.remark[ad], words.REMARKS),
        "landing_page": _named(ads.landing_page[ad], words.LANDING_PAGES),
        "owner_team": _named(ads.team[ad], words.TEAMS),
        "owner": _named(ads.owner[ad], words.OWNERS),
    }


def _targeting(world: World, rows: Rows) -> dict[str, pa.Array]:
    ads, ad = world.ads, rows.ad
    return {
        "placement": _named(ads.placement[ad], [it.code for it in words.PLACEMENTS]),
        "audience": _named(ads.audience[ad], [it.code for it in words.AUDIENCES]),
        "audience_age": _named(ads.age_group[ad], words.AGE_GROUPS),
        "audience_gender": _named(ads.gender[ad], words.GENDERS),
        "region": _named(ads.region[ad], [it.name for it in words.REGIONS]),
        "city_tier": _named(ads.city_tier[ad], words.CITY_TIERS),
        "device_os": _named(ads.device_system[ad], words.DEVICE_SYSTEMS),
        "device_brand": _named(ads.device_brand[ad], words.DEVICE_BRANDS),
    }


def _material(world: World, rows: Rows) -> dict[str, pa.Array]:
    materials, material = world.materials, rows.material
    age = rows.day - materials.created[material]
    names = [_material_name(world, it) for it in range(len(materials))]
    band = np.where(materials.type == 0, np.searchsorted(_BANDS, materials.duration, side="left"), len(_BANDS) + 1)
    return {
        "material_id": _numbered("m", 20001, 5, np.arange(len(materials)))(material),
        "material_name": _named(material, names),
        "material_type": _named(materials.type[material], list(words.MATERIAL_TYPES)),
        "material_size": _named(materials.size[material], words.MATERIAL_SIZES),
        "material_theme": _named(materials.theme[material], list(words.MATERIAL_THEMES)),
        "material_duration_s": pa.array(materials.duration[material].astype(np.int32)),
        "material_duration_band": _named(band[material], words.DURATION_BANDS),
        "material_designer": _named(materials.designer[material], words.DESIGNERS),
        "material_created_date": _dates(materials.created[material]),
        "material_age_days": pa.array(age.astype(np.int32)),
        "is_new_material": pa.array(age < _NEW_MATERIAL_DAYS),
    }


def _ad_name(world: World, ad: int) -> str:
    ads = world.ads
    project, audience = words.PROJECTS[ads.project[ad]], words.AUDIENCES[ads.audience[ad]]
    return f"{project.name}-{audience.name}-{words.REGIONS[ads.region[ad]].name}-{ad + 1:04d}"


def _material_name(world: World, material: int) -> str:
    materials = world.materials
    project = words.PROJECTS[materials.project[material]].name
    theme = list(words.MATERIAL_THEMES.values())[materials.theme[material]]
    kind = list(words.MATERIAL_TYPES.values())[materials.type[material]]
    return f"{project}_{theme}{kind}_{words.DESIGNERS[materials.designer[material]]}_{material + 1:04d}"


def _plan_names(world: World) -> Callable[[Ints], pa.Array]:
    ads = world.ads
    first_ad = np.unique(ads.plan, return_index=True)[1]
    names = [
        f"{words.PROJECTS[ads.project[ad]].name}_{words.CHANNELS[ads.channel[ad]].name}_计划{plan + 1:03d}"
        for plan, ad in enumerate(first_ad)
    ]
    return lambda ad: _named(ads.plan[ad], names)


def _numbered(prefix: str, first: int, digits: int, position: Ints) -> Callable[[Ints], pa.Array]:
    """Ids such as a10001, by an entry's position."""
    ids = [f"{prefix}{first + it:0{digits}d}" for it in range(int(position.max()) + 1)]
    return lambda of: _named(position[of], ids)


def _named(position: Ints | NDArray[np.intp], names: Sequence[str]) -> pa.Array:
    """Texts by their positions in `names`; -1 is null. Held as codes, or a row's 30 texts would cost a kilobyte."""
    codes = pa.array(position.astype(np.int32), mask=position < 0)
    return pa.DictionaryArray.from_arrays(codes, pa.array(list(names), pa.string()))


def _dates(day: Ints) -> pa.Array:
    return pa.array((day + _EPOCH_DAYS).astype(np.int32)).view(pa.date32())
