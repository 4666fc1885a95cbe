"""What a policy takes out of a scene is said where the policy allows, and a caller without any right is told so."""

from dataclasses import replace

import pytest

from gateway.app import App
from gateway.identity import Caller
from scene_kb.models import Scene
from tests.gateway.harness import caller
from tests.gateway.test_steps import refused, session, take

pytestmark = pytest.mark.anyio


def showing_phones(app: App) -> App:
    """The same app, but the scene of single orders shows the buyer's phone by default."""

    def shown(scene: Scene) -> Scene:
        fields = scene.fields.model_copy(update={"default": ("order_id", "buyer_phone", "amount")})
        return scene.model_copy(update={"fields": fields}) if scene.scene_id == "ORDER_DETAIL" else scene

    steps = app.gateway.steps
    catalog = replace(steps.catalog, scenes=tuple(map(shown, steps.catalog.scenes)))
    return replace(app, gateway=replace(app.gateway, steps=replace(steps, catalog=catalog)))


async def called(app: App, who: Caller) -> tuple[list[str], list[dict[str, object]]]:
    """The columns that the scene shows by default, and the warnings."""
    opened = await session(app, "昨天的订单明细", who, scene="ORDER_DETAIL")
    answer = await take(app, "apiCall", who, sessionId=opened, filters={"channel": "B"}, pageSize=2)
    return [column["name"] for column in answer["columns"]], answer["warnings"]


async def test_a_default_field_that_a_role_may_not_see_is_left_out_and_named_where_the_policy_says_so(app: App) -> None:
    columns, warnings = await called(showing_phones(app), caller("channel_b", channels=("B",)))
    assert columns == ["order_id", "amount"]
    [partial] = [it for it in warnings if it["code"] == "PARTIAL_FIELD_SET"]
    assert partial["fields"] == {"buyer_phone": "notPermitted"}


async def test_where_the_policy_does_not_say_so_nothing_tells_of_the_hidden_field(app: App) -> None:
    columns, warnings = await called(showing_phones(app), caller("clerk"))
    assert columns == ["order_id", "amount"]
    assert "buyer_phone" not in str(warnings)


async def test_a_caller_whose_roles_allow_no_scene_is_told_so_instead_of_no_match(app: App) -> None:
    problem = await refused(app, "intentRecognition", caller("intern"), query="昨天各渠道的销售额")
    assert (problem["error"], problem["received"], problem["retryable"]) == ("not_permitted", ["intern"], False)
