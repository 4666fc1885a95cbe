"""The words and base rates of the made-up advertiser: channels, projects, placements and the other closed lists.

All of it is invented. The same stored values, with their names in two languages, are the legal values in
apis/ads_wide.yaml.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Channel:
    code: str
    name: str
    weight: float
    """Its part of the ads."""
    cpm: float
    """CNY for a thousand impressions."""
    ctr: float
    invalid: float
    """Share of clicks that are not a person's."""
    rebate: float
    """Share of the cost that the channel pays back."""


@dataclass(frozen=True)
class Line:
    """What people of a product line do after the click, as conditional rates, and what they are worth in CNY."""

    name: str
    download: float
    register: float
    lead: float
    cart: float
    order: float
    first_pay: float
    refund: float
    coupon: float
    order_value: float
    """Average value of an order."""
    day_value: float
    """Revenue of an activated user on the first day."""
    growth: float
    """How steeply revenue grows after the first day."""
    retention: float
    """Share of activated users who return on the next day."""
    weekend: float
    """Spend at weekends against working days."""
    promotion: float
    """Spend on promotion days against others."""
    cpa: float
    """CNY that an activated user usually costs."""


@dataclass(frozen=True)
class Project:
    name: str
    line: str
    weight: float


@dataclass(frozen=True)
class Placement:
    code: str
    weight: float
    price: float
    """Factor on the channel's price."""
    appeal: float
    """Factor on the channel's click rate."""


@dataclass(frozen=True)
class Audience:
    code: str
    name: str
    """As it stands in the names of ads."""
    weight: float
    price: float
    conversion: float
    """Factor on what people do after the click."""
    new: float
    """Share of its buyers who buy for the first time."""


@dataclass(frozen=True)
class Region:
    name: str
    weight: float
    price: float


def each(entries: Sequence[object], attribute: str) -> NDArray[np.float64]:
    """A number of every entry, to be indexed by positions in the list."""
    return np.array([getattr(entry, attribute) for entry in entries], dtype=np.float64)


CHANNELS = (
    Channel("A", "短视频", 0.28, 31.0, 0.021, 0.020, 0.06),
    Channel("B", "搜索", 0.19, 68.0, 0.052, 0.012, 0.04),
    Channel("C", "信息流", 0.24, 23.0, 0.016, 0.031, 0.08),
    Channel("D", "应用商店", 0.12, 54.0, 0.038, 0.009, 0.03),
    Channel("E", "社交", 0.17, 27.0, 0.013, 0.024, 0.07),
)

LINES = (
    # download, register, lead, cart, order, first_pay, refund, coupon; order_value, day_value, growth, retention;
    # weekend, promotion; cpa
    Line("game", 0.34, 0.71, 0.00, 0.00, 0.00, 0.062, 0.02, 0.02, 0.0, 2.60, 1.10, 0.36, 1.16, 1.1, 10.0),
    Line("ecommerce", 0.16, 0.62, 0.00, 0.19, 0.41, 0.210, 0.08, 0.16, 128.0, 5.20, 0.55, 0.27, 1.05, 1.9, 22.0),
    Line("education", 0.10, 0.66, 0.07, 0.02, 0.35, 0.045, 0.05, 0.05, 299.0, 4.10, 0.45, 0.22, 1.10, 1.2, 34.0),
    Line("finance", 0.14, 0.58, 0.05, 0.00, 0.00, 0.031, 0.01, 0.03, 0.0, 6.30, 0.70, 0.25, 0.82, 1.0, 24.0),
    Line("travel", 0.15, 0.60, 0.02, 0.06, 0.30, 0.052, 0.12, 0.09, 560.0, 3.90, 0.40, 0.18, 0.93, 1.4, 23.5),
    Line("reading", 0.30, 0.54, 0.00, 0.00, 0.00, 0.088, 0.01, 0.04, 0.0, 1.30, 0.95, 0.31, 1.08, 1.0, 11.0),
    Line("tool", 0.33, 0.40, 0.00, 0.00, 0.00, 0.024, 0.02, 0.01, 0.0, 0.90, 0.50, 0.29, 0.95, 1.0, 11.0),
)

PROJECTS = (
    Project("星河远征", "game", 0.13),
    Project("九州棋局", "game", 0.08),
    Project("云朵商城", "ecommerce", 0.14),
    Project("拾光美妆", "ecommerce", 0.10),
    Project("鲜达到家", "ecommerce", 0.09),
    Project("小鹿英语", "education", 0.08),
    Project("知行考研", "education", 0.06),
    Project("安心保", "finance", 0.07),
    Project("明账记账", "finance", 0.05),
    Project("山海旅行", "travel", 0.07),
    Project("听风小说", "reading", 0.08),
    Project("极速清理", "tool", 0.05),
)

PROMOTIONS = (
    # first and last day
    (date(2026, 6, 16), date(2026, 6, 20)),
    (date(2026, 8, 18), date(2026, 8, 18)),
    (date(2026, 9, 7), date(2026, 9, 7)),
    (date(2026, 10, 31), date(2026, 11, 11)),
    (date(2026, 11, 27), date(2026, 11, 27)),
)

PLACEMENTS = (
    Placement("feed", 0.42, 1.00, 1.00),
    Placement("rewarded", 0.16, 0.85, 0.80),
    Placement("splash", 0.10, 1.45, 1.25),
    Placement("search", 0.14, 1.30, 1.50),
    Placement("detail", 0.11, 0.90, 0.95),
    Placement("banner", 0.07, 0.55, 0.45),
)

AUDIENCES = (
    Audience("new_users", "拉新", 0.26, 1.08, 1.00, 0.93),
    Audience("lookalike", "相似", 0.22, 1.12, 1.14, 0.84),
    Audience("interest", "兴趣", 0.20, 1.00, 1.05, 0.78),
    Audience("retargeting", "再营销", 0.12, 1.20, 1.52, 0.22),
    Audience("lapsed", "召回", 0.08, 1.05, 1.21, 0.10),
    Audience("broad", "通投", 0.12, 0.82, 0.76, 0.88),
)

REGIONS = (
    Region("广东", 0.17, 1.10),
    Region("江苏", 0.11, 1.05),
    Region("浙江", 0.11, 1.07),
    Region("山东", 0.09, 0.95),
    Region("北京", 0.09, 1.24),
    Region("上海", 0.09, 1.26),
    Region("四川", 0.08, 0.94),
    Region("河南", 0.07, 0.86),
    Region("湖北", 0.06, 0.91),
    Region("湖南", 0.05, 0.89),
    Region("福建", 0.05, 0.98),
    Region("陕西", 0.03, 0.88),
)

MATERIAL_TYPES = {"video": "视频", "image": "图片", "carousel": "组图", "playable": "试玩"}
"""Stored value to what it is called in the names of materials."""
MATERIAL_TYPE_WEIGHTS = (0.58, 0.24, 0.12, 0.06)
MATERIAL_SIZES = ("9:16", "16:9", "1:1", "3:4")
MATERIAL_SIZE_WEIGHTS = (0.52, 0.24, 0.14, 0.10)
MATERIAL_THEMES = {
    "story": "剧情",
    "talking": "口播",
    "welfare": "福利",
    "review": "测评",
    "gameplay": "实录",
    "creator": "达人",
}
DURATION_BANDS = ("0-15s", "15-30s", "30-60s", "60s+", "none")

BID_TYPES = ("ocpm", "ocpc", "cpc", "cpm", "cpa")
BID_TYPE_WEIGHTS = (0.46, 0.18, 0.16, 0.09, 0.11)
GOALS = ("activation", "registration", "first_pay", "order", "lead", "retention_d1")
GOAL_WEIGHTS = (0.30, 0.20, 0.20, 0.14, 0.08, 0.08)
LANDING_PAGES = ("store", "h5", "mini_program", "form", "live_room")
LANDING_PAGE_WEIGHTS = (0.38, 0.27, 0.18, 0.10, 0.07)

AGE_GROUPS = ("18-23", "24-30", "31-40", "41-49", "50+")
GENDERS = ("all", "female", "male")
CITY_TIERS = ("tier1", "new_tier1", "tier2", "tier3", "tier4")
DEVICE_SYSTEMS = ("android", "ios", "harmony")
DEVICE_BRANDS = ("Apple", "Huawei", "Xiaomi", "OPPO", "vivo", "Honor")

TEAMS = ("增长一组", "增长二组", "增长三组", "品牌组", "代理组")
OWNERS = (  # three of each team, in the order of the teams
    *("王琪", "李想", "周蔓", "陈博文", "赵一鸣", "孙晓", "郑凯", "何雨"),
    *("林岚", "高远", "许诺", "唐棠", "沈默", "罗佳", "方圆"),
)
DESIGNERS = ("阿茶", "木木", "小鱼", "大白", "青柠", "栗子", "北北", "可可")

ACCOUNT_NAMES = ("直客一号", "直客二号", "代理户")
REMARKS = ("客户要求控量", "周末加投", "新素材测试中", "出价试探", "竞品活动期间保量", "等待法务确认文案")
