"""A resolver of one's own that fails: every question is told so, and the server stays."""

import pytest

from gateway.settings import Settings
from scene_kb.models import Match
from scene_kb.resolver import HybridResolver
from tests.gateway.harness import connected


class Failing(HybridResolver):
    """Fails at every question, the first one that warms the server included."""

    def match(self, query: str, *, visible: frozenset[str], dimensions: frozenset[str] = frozenset()) -> Match:
        raise ZeroDivisionError


@pytest.mark.anyio
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_resolver_that_fails_is_an_internal_error_and_the_server_stays(
    transport: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANBU_RESOLVER", f"{__name__}:Failing")
    async with connected(transport, "auto", settings) as client:
        for _ in range(2):
            said = await client.call_tool("intentRecognition", {"query": "昨天各渠道的销售额"}, read_timeout_seconds=60)
            assert said.is_error
            assert said.structured_content is not None
            assert said.structured_content["error"] == "internal"
