"""A person's query on a dataset: the same engine under the same permissions, without scene or session."""

from datetime import datetime

from engine.dataset import Language, language_of
from engine.errors import CursorInvalid
from engine.evidence import Scope
from engine.pipeline import Request
from engine.query import DataQuery, Plan
from gateway import continuing
from gateway.arguments import QueryArguments, read
from gateway.audit import disclosure
from gateway.errors import InvalidArguments
from gateway.house import NOT_REPEATED, House, Reply, repeated
from gateway.identity import Caller
from gateway.present import answers
from gateway.present.link import links


async def query(house: House, asked: QueryArguments, caller: Caller) -> Reply:
    """The page that is asked for.

    Raises InvalidArguments without a dataset, QuotaReached, and every EngineError.
    """
    asked, said_at = _as_begun(asked)
    standing = await house.standing(asked, caller, scene_ref=None)
    request = _request(house, asked, caller, standing, said_at)
    answer = await house.answer(request, caller)
    told = disclosure(answer, None)
    answer = continuing.carrying(answer, continuing.Begun(repeated(asked), said_at or request.now))
    said = answers.called(answer, _spoken(asked, standing))
    return Reply(said | links(answer, caller.reached_at), {}, None, told)


def explain(house: House, asked: QueryArguments, caller: Caller) -> Plan:
    """What a person's query would run, without running it.

    Raises InvalidArguments without a dataset, and every EngineError that comes before a store.
    """
    return house.engine.explain(_request(house, asked, caller))


def _request(
    house: House,
    asked: QueryArguments,
    caller: Caller,
    standing: Scope | None = None,
    said_at: datetime | None = None,
) -> Request:
    noted = {"language": _spoken(asked, standing)}
    if standing is not None:
        return house.request(standing.query, caller, asked, None, noted=noted, said_at=standing.clock)
    if asked.api_no is None:
        raise InvalidArguments("apiNo", None, "missing")
    query = DataQuery(
        api_no=asked.api_no,
        filters={name: value for name, value in (asked.filters or {}).items() if value is not None},
        fields=asked.fields or (),
        group_by=asked.group_by,
        order_by=asked.order_by or (),
        limit=asked.limit,
        limit_per_group=asked.limit_per_group,
    )
    return house.request(query, caller, asked, None, noted=noted, said_at=said_at)


def _as_begun(asked: QueryArguments) -> tuple[QueryArguments, datetime | None]:
    """A cursor alone stands for the query that it came from, and for when that was said; beside a query it must fit it.

    Raises CursorInvalid.
    """
    if asked.cursor is None:
        return asked, None
    own = {"cursor": continuing.own_cursor(asked.cursor)}
    if asked.model_fields_set - NOT_REPEATED:
        return asked.model_copy(update=own), None
    begun = continuing.begun(asked.cursor)
    try:
        given = read(QueryArguments, {**begun.arguments, **asked.model_dump(exclude_none=True), **own})
    except InvalidArguments as error:
        raise CursorInvalid("altered") from error
    return given, begun.said_at


def _spoken(asked: QueryArguments, standing: Scope | None) -> Language:
    if standing is not None:
        return "zh" if standing.noted.get("language") == "zh" else "en"
    return language_of(str(asked.filters or ""))
