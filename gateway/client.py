"""The caller's side, for code that works beside an agent: a whole result by following its pages, and what it proves.

Never hides what was left out: a bound of its own is a reason like the server's, and two snapshots are never merged.
Imports nothing of the server.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import anyio

from gateway.messages import say

if TYPE_CHECKING:
    import httpx2
    import mcp

    from engine.dataset import Language

Wire = Mapping[str, Any]

_PAGE_ROWS = 500  # the largest pageSize there is: nobody's context has to hold these pages
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
_GONE = frozenset({"cursor_invalid", "session_expired", "session_not_found"})
"""Errors after which the rest of these frozen rows can no longer be had."""


class CallApi(Protocol):
    """One call of apiCall: its arguments in wire form to its structured content, an answer or a problem.

    Raises ConnectionError where the gateway is not reached.
    """

    async def __call__(self, arguments: Wire, /) -> Wire: ...


@dataclass(frozen=True)
class Bounds:
    """How much `fetch_all` may fetch, and how long it may take."""

    pages: int = 1_000
    rows: int = 100_000
    seconds: float = 60

    def __post_init__(self) -> None:
        if min(self.pages, self.rows, self.seconds) <= 0:
            raise ValueError("each bound is above 0")


@dataclass
class CallRefused(Exception):
    """The gateway answered with a problem that waiting does not mend."""

    problem: Wire
    """As it came: error, reason, suggestion, retryable, traceId, …"""

    def __str__(self) -> str:
        return f"{self.problem.get('error')}: {self.problem.get('reason')}"


@dataclass(frozen=True)
class Fetched:
    """The rows of one snapshot, from the first page (or the cursor that was given) on."""

    columns: Sequence[Wire]
    rows: Sequence[Sequence[Any]]
    completeness: Wire
    """In the shape of an answer's; `complete` only where all pages up to the last one are here and nothing was cut."""
    warnings: Sequence[Wire]
    """Of all pages, each once."""
    pages: int
    last_page: Wire | None = None
    """As it came, for what belongs to no row: totalRows, untrusted, empty, evidence. None where there is no page."""
    error: Exception | None = None
    """CallRefused or ConnectionError: what kept it from going on."""

    @property
    def complete(self) -> bool:
        return self.completeness["complete"] is True


async def fetch_all(call: CallApi, arguments: Wire, *, bounds: Bounds | None = None) -> Fetched:
    """apiCall with `arguments` (wire names), and every page that follows, until there is none or a bound is reached.

    `busy`, `source_unavailable` and lost connections are tried again after the time that the server names. Whatever
    ends it early is the last of the reasons: CLIENT_LIMIT_REACHED goes on from its cursor by the same call with
    `cursor`; after SNAPSHOT_CHANGED the same call begins anew.

    Raises CallRefused where the first page is refused: there is no result then, not even a partial one.
    """
    bounds = bounds or Bounds()
    deadline = anyio.current_time() + bounds.seconds
    most = int(arguments.get("pageSize") or _PAGE_ROWS)
    pages: list[Wire] = []
    rows, cursor = 0, arguments.get("cursor")
    while True:
        asked = {**arguments, "cursor": cursor, "pageSize": min(most, bounds.rows - rows)}
        try:
            page = await _page(call, asked, deadline)
        except _OutOfTime as late:
            return _fetched(pages, _bound("seconds", bounds.seconds, cursor, pages, late.error), late.error)
        except CallRefused as refused:
            if not pages:
                raise
            gone = refused.problem.get("error") in _GONE
            reason = _changed(pages, str(refused)) if gone else _bound("error", None, cursor, pages, refused)
            return _fetched(pages, reason, refused)
        if pages and _snapshot(page) != _snapshot(pages[0]):
            return _fetched(pages, _changed(pages, str(_snapshot(page))))
        pages.append(page)
        rows += len(page["rows"])
        following = _next_page(page)
        if following is None:
            return _fetched(pages)
        cursor = following["cursor"]
        if rows >= bounds.rows:
            return _fetched(pages, _bound("rows", bounds.rows, cursor, pages))
        if len(pages) >= bounds.pages:
            return _fetched(pages, _bound("pages", bounds.pages, cursor, pages))


def over_mcp(client: "mcp.Client") -> CallApi:
    """Calls the tool apiCall of a connected client."""
    from mcp.shared.exceptions import MCPError  # not above: it takes a second
    from mcp_types import CONNECTION_CLOSED

    async def call(arguments: Wire, /) -> Wire:
        try:
            result = await client.call_tool("apiCall", dict(arguments))
        except MCPError as error:
            if error.code != CONNECTION_CLOSED:
                raise
            raise ConnectionError(error.message) from error
        return result.structured_content or {}

    return call


def over_http(client: "httpx2.AsyncClient") -> CallApi:
    """Calls POST /v1/apiCall; the client's `base_url` is where the gateway listens."""

    async def call(arguments: Wire, /) -> Wire:
        return await _posted(client, "/v1/apiCall", arguments)

    return call


async def verify_evidence(
    client: "httpx2.AsyncClient",
    token: str,
    ids: Sequence[Any] = (),
    *,
    absent: Sequence[Any] = (),
    require_complete: bool = False,
    recheck: bool = False,
) -> Wire:
    """The verdict of POST /evidence/verify, for whoever acts on rows: act where `verified` is true, and never else.

    Raises CallRefused where there is no verdict (an id that no row could have, a source that is down at `recheck`), and
    ConnectionError where the gateway is not reached.
    """
    claim = {"token": token, "ids": list(ids), "absent": list(absent)}
    verdict = await _posted(
        client, "/evidence/verify", {**claim, "requireComplete": require_complete, "recheck": recheck}
    )
    if "error" in verdict:
        raise CallRefused(verdict)
    return verdict


async def _posted(client: "httpx2.AsyncClient", path: str, body: Wire) -> Wire:
    """Raises ConnectionError where no gateway answers."""
    from httpx2 import TransportError

    try:
        response = await client.post(path, json=dict(body))
    except TransportError as error:
        raise ConnectionError(str(error)) from error
    try:
        said: Wire = response.json()
    except ValueError as error:  # not the gateway, but what stands before it
        raise ConnectionError(f"status {response.status_code}, and no JSON") from error
    return said


_OF_ONE_PAGE = ("MORE_PAGES_AVAILABLE", "QUOTA_EXCEEDED")
"""Reasons that the next page ends, as soon as it may be had."""


@dataclass
class _OutOfTime(Exception):
    error: Exception | None


async def _page(call: CallApi, arguments: Wire, deadline: float) -> Wire:
    """The page, tried again for as long as that may help. Raises _OutOfTime or CallRefused."""
    failed: Exception | None = None
    pause = _FIRST_PAUSE_S
    while True:
        with anyio.CancelScope(deadline=deadline):
            try:
                said = await call({name: value for name, value in arguments.items() if value is not None})
                if "error" not in said:
                    return said
                failed = CallRefused(said)
                wait = said.get("retryAfterSeconds") if said.get("retryable") else None
                if wait is None:
                    raise failed
            except ConnectionError as lost:
                failed, wait = lost, pause
                pause = min(2 * pause, _LONGEST_PAUSE_S)
            if anyio.current_time() + wait < deadline:
                await anyio.sleep(wait)
                continue
        raise _OutOfTime(failed)


def _next_page(page: Wire) -> Wire | None:
    reasons = page["completeness"]["reasons"]
    return next((it["continuation"] for it in reasons if it["code"] == "MORE_PAGES_AVAILABLE"), None)


def _snapshot(page: Wire) -> object:
    return page["completeness"].get("snapshot", {}).get("id")


def _bound(what: str, limit: float | None, cursor: str | None, pages: Sequence[Wire], error: object = None) -> Wire:
    """The reason for a bound of our own. Before the first page there is no cursor, and a higher bound alone helps."""
    message = say(f"CLIENT_LIMIT_REACHED.{what}", _language(pages), limit=limit, error=error)
    following = _next_page(pages[-1]) if pages else None
    remaining = {"remaining": following["remaining"]} if following and "remaining" in following else {}
    onward = {"kind": "nextPage", "cursor": cursor, **remaining} if cursor else {"kind": "raiseLimit"}
    bound = {"what": what, **({} if limit is None else {"limit": limit})}
    return {"code": "CLIENT_LIMIT_REACHED", "message": message, "continuation": {**onward, **bound}}


def _changed(pages: Sequence[Wire], detail: str) -> Wire:
    message = say("SNAPSHOT_CHANGED", _language(pages), detail=detail)
    return {
        "code": "SNAPSHOT_CHANGED",
        "message": message,
        "continuation": {"kind": "retryAfter", "seconds": 0},
    }


def _fetched(pages: Sequence[Wire], own: Wire | None = None, error: Exception | None = None) -> Fetched:
    """What the pages and our own reason for stopping come to."""
    own_reasons = [own] if own else []
    if not pages:
        nothing = {"complete": False, "truncated": False, "reasons": own_reasons, "scope": {}}
        return Fetched((), (), {**nothing, "statement": _statement(0, own_reasons, "en")}, (), 0, error=error)
    last = pages[-1]["completeness"]
    theirs = _each_once([reason for page in pages for reason in page["completeness"]["reasons"]])
    reasons = [*(it for it in theirs if it["code"] not in _OF_ONE_PAGE), *own_reasons]
    rows = [row for page in pages for row in page["rows"]]
    completeness = {
        **last,
        "complete": last["complete"] is True and not reasons,
        "truncated": any(page["completeness"].get("truncated", False) for page in pages),
        "reasons": reasons,
    }
    if reasons and (own or len(pages) > 1):  # the last page's statement speaks of that page alone
        completeness["statement"] = _statement(len(rows), reasons, _language(pages))
    warnings = _each_once([warning for page in pages for warning in page.get("warnings", ())])
    return Fetched(pages[0]["columns"], rows, completeness, warnings, len(pages), pages[-1], error)


def _statement(n: int, reasons: Sequence[Wire], language: "Language") -> str:
    why = " ".join(str(reason["message"]) for reason in reasons)
    return say("fetched.partial", language, n=n, why=why)


def _each_once(said: Sequence[Wire]) -> list[Wire]:
    return list({json.dumps(it, sort_keys=True): it for it in said}.values())


def _language(pages: Sequence[Wire]) -> "Language":
    """The server's own, which the query set: its Chinese sentences hold Chinese characters."""
    statement = str(pages[0]["completeness"].get("statement", "")) if pages else ""
    return "zh" if any("一" <= character <= "鿿" for character in statement) else "en"
