"""A small knowledge base of cards, in both languages, with the real embedder."""

from pathlib import Path

import pytest

from scene_kb.embedders.base import Embedder, open_embedder
from scene_kb.index import Index, open_index
from scene_kb.models import FieldCard, SceneCard
from scene_kb.resolver import HybridResolver


def _field(name: str, *titles: str, metric: bool = False, aliases: tuple[str, ...] = (), **facts: object) -> FieldCard:
    return FieldCard(name, titles, aliases, role="metric" if metric else "dimension", **facts)  # type: ignore[arg-type]


_DAY = _field("date", "日期", "date", type="date", key=True)
_CHANNEL = _field("channel", "渠道", "channel", values=("渠道A", "渠道B"))
_COST = _field("cost", "消耗", "spend", metric=True, aliases=("花费",), type="decimal(18,2)")
_CHANNEL_NAMES, _AD_NAMES, _ROUTE_NAMES = ("channel", "渠道"), ("ad", "广告"), ("route", "航线")

CARDS = (
    SceneCard(
        ref="QUERY_CHANNEL_SPEND@1",
        titles=("渠道消耗概览", "Channel spend"),
        purposes=("按渠道汇总每天的消耗、曝光和点击", "Spend, impressions and clicks by channel and day"),
        questions=("各渠道这周花了多少", "which channel spent most last week"),
        parameters=("日期 / date",),
        fields=(_DAY, _CHANNEL, _COST, _field("clicks", "点击次数", "clicks", metric=True)),
        dimensions=("channel",),
        dimension_names=(_CHANNEL_NAMES,),
        metrics=("cost", "clicks"),
        default_fields=("channel", "cost"),
        grain=("channel",),
    ),
    SceneCard(
        ref="QUERY_AD_ANOMALY@1",
        titles=("广告消耗异常排查", "Ad spend anomalies"),
        purposes=("找出消耗比前一天突增或突降的广告", "Ads whose spend jumped or fell against the day before"),
        questions=("哪些计划今天烧钱太快", "ads with a sudden spend spike"),
        parameters=("日期 / date", "渠道 / channel"),
        fields=(
            _DAY,
            _CHANNEL,
            _field("ad_id", "广告ID", "ad id", key=True),
            _field("ad_name", "广告名称", "ad name"),
            _COST,
            _field("cost_dod", "消耗日环比", "spend day over day", metric=True),
            _field("budget", "预算", "budget", metric=True),
        ),
        dimensions=("ad",),
        dimension_names=(_AD_NAMES,),
        metrics=("cost", "cost_dod"),
        default_fields=("ad_id", "ad_name", "cost", "cost_dod"),
        grain=("ad_id", "ad_name"),
    ),
    SceneCard(
        ref="QUERY_CHANNEL_AD@1",
        titles=("渠道与广告交叉分析", "Ads within channels"),
        purposes=("同时按渠道和广告看消耗和点击", "Spend and clicks by channel and ad together"),
        fields=(
            _CHANNEL,
            _field("ad_name", "广告名称", "ad name"),
            _COST,
            _field("clicks", "点击次数", "clicks", metric=True),
        ),
        dimensions=("channel", "ad"),
        dimension_names=(_CHANNEL_NAMES, _AD_NAMES),
        metrics=("cost",),
        default_fields=("channel", "ad_name", "cost"),
        combinations=(("channel", "ad_name", "cost", "clicks"),),
        grain=("channel", "ad_name"),
    ),
    SceneCard(
        ref="QUERY_REFUND@1",
        titles=("退款分析", "Refunds"),
        purposes=("退款金额、退款率和退款原因", "Refund amounts, rates and reasons"),
        fields=(
            _DAY,
            _CHANNEL,
            _field("refund_amount", "退款金额", "refund amount", metric=True),
            _field("refund_reason", "退款原因", "refund reason"),
        ),
        dimensions=("channel",),
        dimension_names=(_CHANNEL_NAMES,),
        metrics=("refund_amount",),
        default_fields=("channel", "refund_amount"),
        grain=("channel",),
    ),
    SceneCard(
        ref="QUERY_FLIGHT_DELAY@1",
        titles=("Flight delays", "航班延误"),
        purposes=("Departure and arrival delays by route", "各航线的起飞和到达延误"),
        fields=(
            _field("route", "航线", "route"),
            _field("dep_delay", "起飞延误", "departure delay", metric=True),
            _field("arr_delay", "到达延误", "arrival delay", metric=True),
            _field("visibility", "能见度", "visibility"),
            _field("city", "城市", "city", values=("上海", "Lisbon")),
        ),
        dimensions=("route",),
        dimension_names=(_ROUTE_NAMES,),
        metrics=("dep_delay",),
        default_fields=("route", "dep_delay"),
        grain=("route",),
    ),
)
EVERY = frozenset(card.ref for card in CARDS)


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    return open_embedder("auto")


@pytest.fixture(scope="session")
def index(embedder: Embedder, tmp_path_factory: pytest.TempPathFactory) -> Index:
    return open_index(CARDS, Path(tmp_path_factory.mktemp("index")), embedder)


@pytest.fixture(scope="session")
def resolver(index: Index, embedder: Embedder) -> HybridResolver:
    return HybridResolver(index, embedder)
