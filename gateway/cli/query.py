"""`sanbu query`: a person's query by the same engine under the same permissions."""

import json
from collections.abc import Mapping
from typing import Any

import anyio

from gateway import personal
from gateway.app import App, open_app
from gateway.arguments import QueryArguments, read
from gateway.cli.faults import Failure
from gateway.cli.steps import show_answer
from gateway.cli.terminal import index_progress, print_json, show_problem
from gateway.log import configure_logging
from gateway.present.answers import echoed
from gateway.settings import Settings


def run_query(settings: Settings, given: Mapping[str, Any], where: list[str], *, explain: bool, as_json: bool) -> None:
    """Prints the answer, or with `explain` the plan. Status 1 where the query was refused."""
    configure_logging("ERROR")
    arguments = {name: value for name, value in {**given, "filters": _filters(where)}.items() if value}

    async def main() -> Mapping[str, Any]:
        with index_progress() as progress:
            async with open_app(settings, progress=progress) as app:
                if explain:
                    return _explained(app, arguments)
                return (await app.gateway.answer("query", arguments, app.local)).said

    said = anyio.run(main)
    if as_json or explain:
        print_json(said)
    elif "error" in said:
        show_problem(said)
    else:
        show_answer(said)
    if "error" in said:
        raise SystemExit(1)


def _explained(app: App, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    plan = personal.explain(app.gateway.steps, read(QueryArguments, arguments), app.local)
    zone = plan.resolved.dataset.zone
    return {
        "source": plan.source.name,
        "route": plan.route_reason,
        "sql": plan.statement.sql,
        "parameters": {name: str(value) for name, value in plan.statement.told.items()},
        "filters": {name: echoed(value, zone) for name, value in plan.resolved.spoken_filters.items()},
        "columns": [{"name": column.label, "type": column.type} for column in plan.resolved.columns],
        "grant": plan.grant.fingerprint,
    }


def _filters(where: list[str]) -> dict[str, Any]:
    """NAME=VALUE pairs and JSON objects as one mapping; a name given twice becomes a list."""
    filters: dict[str, Any] = {}
    for text in where:
        if text.lstrip().startswith("{"):
            try:
                filters.update(json.loads(text))
            except ValueError as error:
                raise Failure(f"--where {text}: not a JSON object ({error})") from error
            continue
        name, equals, value = text.partition("=")
        if not equals:
            raise Failure(f"--where {text}: write NAME=VALUE, or a JSON object")
        filters[name] = [*_as_list(filters[name]), value] if name in filters else value
    return filters


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
