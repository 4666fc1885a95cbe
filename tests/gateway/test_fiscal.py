"""A dataset's fiscal year, from a question's words to what the answer says of its rows."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gateway.app import App, open_app
from gateway.settings import Settings
from tests.gateway.test_steps import refused, session, take

pytestmark = pytest.mark.anyio

QUARTER = {"from": "2026-11-01", "to": "2027-01-31"}


@pytest.fixture
async def fiscal(settings: Settings, tmp_path: Path) -> AsyncIterator[App]:
    """The bookshop, with fiscal years that begin in February."""
    folder = tmp_path / "fiscal"
    shutil.copytree(settings.catalog, folder)
    orders = folder / "apis" / "orders.yaml"
    orders.write_text(orders.read_text() + "fiscalYear: {startMonth: 2, namedAfter: end}\n")
    async with open_app(settings.model_copy(update={"catalog": str(folder)})) as app:
        yield app


async def test_words_for_a_fiscal_year_are_recognised_and_filtered_by(fiscal: App) -> None:
    for query in ("本财季各渠道的销售额", "sales by channel this fiscal quarter"):
        found = await take(fiscal, "intentRecognition", query=query, sceneId="SALES_BY_CHANNEL")
        assert [it["recognised"] for it in found["parameters"] if it["name"] == "day"] == [[QUARTER]]
    answer = await take(fiscal, "query", apiNo="orders", filters={"day": "FY2027 Q4"}, fields=["copies"], groupBy=[])
    assert answer["completeness"]["scope"]["filters"]["day"] == QUARTER
    assert {it["code"] for it in answer["warnings"]} >= {"VALUE_NORMALISED"}


async def test_years_and_quarters_are_the_fiscal_years_and_said_to_be(fiscal: App) -> None:
    asked: dict[str, Any] = {"apiNo": "orders", "filters": {"day": "2026-11"}, "fields": ["row_count"]}
    answer = await take(fiscal, "query", **asked, groupBy=["day:year", "day:quarter", "day:month"])
    assert [row[:3] for row in answer["rows"]] == [["2026-02-01", "2026-11-01", "2026-11-01"]]
    assert answer["completeness"]["statement"].endswith(
        " Years and quarters are those of the fiscal year, which begins in February."
    )
    by_month = await take(fiscal, "query", **asked, groupBy=["day:month"])
    assert "fiscal" not in by_month["completeness"]["statement"]


async def test_a_calendars_quarter_is_said_to_be_one_where_it_is_not_the_fiscal_years(fiscal: App) -> None:
    answer = await take(fiscal, "query", apiNo="orders", filters={"day": "本季度"}, fields=["copies"], groupBy=[])
    (warning,) = [it for it in answer["warnings"] if it["code"] == "VALUE_NORMALISED"]
    assert warning["to"] == {"from": "2026-10-01", "to": "2026-12-31"}
    assert "有歧义" in warning["message"]


async def test_a_fiscal_year_that_no_dataset_sets_is_asked_for(app: App) -> None:
    sid = await session(app, "本财年各渠道的销售额")
    missing = await refused(app, "apiCall", sessionId=sid)
    assert (missing["error"], missing["legalValues"]) == ("missing_parameter", ["day"])
    unread = await refused(app, "query", apiNo="orders", filters={"day": "fiscal Q3"}, fields=["copies"])
    assert (unread["error"], unread["field"]) == ("invalid_parameter", "filters.day")
