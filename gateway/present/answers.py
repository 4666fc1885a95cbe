"""apiCall and a person's query in wire form."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from engine.dataset import Language
from engine.query import Answer, EmptyFinding, Incompleteness, MorePages, Note, ResultLimit, VisibilityRestricted
from gateway.messages import say
from gateway.present.scene import Wire, deprecation
from scene_kb.models import Scene


def called(
    answer: Answer, language: Language, *, scene: Scene | None = None, defaulted: Mapping[str, object] | None = None
) -> Wire:
    resolved, snapshot, page = answer.plan.resolved, answer.snapshot, answer.page
    zone = resolved.dataset.zone
    wire: Wire = {
        "status": "complete" if answer.completeness.complete else "partial",
        "completeness": {
            "complete": answer.completeness.complete,
            "truncated": snapshot.cut_by is not None,
            "statement": _statement(answer, language),
            "reasons": [_reason(it, language) for it in answer.completeness.reasons],
            "scope": {
                **({"scene": scene.ref} if scene else {"apiNo": resolved.dataset.api_no}),
                "filters": dict(resolved.spoken_filters),
                "limit": resolved.limit,
                "visibility": _visibility(answer, language),
            },
            "snapshot": {
                "id": snapshot.id,
                "takenAt": _moment(snapshot.taken_at),
                "expiresAt": _moment(snapshot.expires_at),
                "dataAsOf": _as_of(snapshot.data_as_of, zone),
            },
        },
        "columns": [
            {"name": column.label, "type": column.type, **({"unit": column.unit} if column.unit else {})}
            for column in resolved.columns
        ],
        "rows": [list(row) for row in page.rows],
        "returned": len(page.rows),
        **({"totalRows": snapshot.total_rows} if snapshot.total_rows is not None else {}),
        "warnings": [*_defaulted(defaulted or {}, language), *(_warning(note, language) for note in answer.notes)],
    }
    if scene is not None:
        wire["warnings"] = [*deprecation(scene, language), *wire["warnings"]]
    texts = [column.label for column in resolved.columns if column.field and "freeText" in column.field.flags]
    if texts and page.rows:
        wire["untrusted"] = {"columns": texts, "note": say("untrusted", language)}
    if snapshot.empty is not None:
        wire["empty"] = _empty(snapshot.empty, language)
    return wire


def _statement(answer: Answer, language: Language) -> str:
    """In words, what may be concluded from a complete answer; nothing where it is not complete."""
    if not answer.completeness.complete:
        return ""
    limit, total = answer.plan.resolved.limit, answer.snapshot.rows.num_rows
    if total == 0:
        return say("complete.empty", language)
    if limit is not None and total >= limit:
        return say("complete.limit", language, limit=limit, n=total)
    return say("complete.lastPage" if answer.page.offset else "complete", language, n=total)


def _reason(reason: Incompleteness, language: Language) -> Wire:
    match reason:
        case MorePages(cursor, remaining):
            return {
                "code": "MORE_PAGES_AVAILABLE",
                "message": say("MORE_PAGES_AVAILABLE", language, remaining=remaining),
                "continuation": {"kind": "nextPage", "cursor": cursor, "remaining": remaining},
            }
        case ResultLimit(what, limit):
            return {
                "code": "RESULT_LIMIT_REACHED",
                "message": say(f"RESULT_LIMIT_REACHED.{what}", language, limit=limit),
                "continuation": {"kind": "narrowQuery", "what": what, "limit": limit},
            }
        case VisibilityRestricted(roles):
            return {
                "code": "VISIBILITY_RESTRICTED",
                "message": say("VISIBILITY_RESTRICTED", language, roles=", ".join(roles)),
                "continuation": {"kind": "requestAccess"},
            }


def _visibility(answer: Answer, language: Language) -> str:
    grant = answer.plan.grant
    roles = ", ".join(grant.roles)
    bounds = {
        f"{scope.field} = {'|'.join(map(str, scope.values))}"
        for scopes in grant.rows
        for scope in scopes
        if scope.kind == "boundary"
    }
    if not bounds:
        return say("visibility", language, roles=roles)
    return say("visibility.boundary", language, roles=roles, bounds=", ".join(sorted(bounds)))


def _warning(note: Note, language: Language) -> Wire:
    key = "VALUE_NORMALISED.ambiguous" if note.ambiguous else note.code
    message = say(key, language, field=note.field, received=_spoken(note.received), used=_spoken(note.used))
    wire: Wire = {"code": note.code, "message": message}
    if note.field is not None:
        wire["field"] = note.field
    if note.received is not None:
        wire["from"] = note.received
    if note.used is not None:
        wire["to"] = _plain(note.used)
    if note.owner is not None:
        wire["owner"] = note.owner
    return wire


def _defaulted(defaulted: Mapping[str, object], language: Language) -> list[Wire]:
    return [
        {
            "code": "DEFAULT_SCOPE_APPLIED",
            "message": say("DEFAULT_SCOPE_APPLIED", language, field=name, used=value),
            "field": name,
            "to": value,
        }
        for name, value in defaulted.items()
    ]


def _spoken(value: object) -> object:
    if isinstance(value, Mapping) and set(value) == {"from", "to"}:
        return value["from"] if value["from"] == value["to"] else f"{value['from']} – {value['to']}"
    return value


def _plain(value: object) -> object:
    """JSON values as they are, exact numbers as text."""
    return value if isinstance(value, str | int | float | bool | list | dict) else str(value)


def _empty(finding: EmptyFinding, language: Language) -> Wire:
    hints = [
        say("empty.without", language, name=name, count=count) for name, count in finding.without.items() if count
    ] or [say("empty.nothing", language)]
    if finding.first is not None:
        hints.append(say("empty.range", language, first=finding.first, last=finding.last))
    separator = "" if language == "zh" else " "
    return {
        "message": say("empty", language, hint=separator.join(hints)),
        "available": {"from": finding.first, "to": finding.last} if finding.first is not None else None,
        "without": dict(finding.without),
    }


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _as_of(moment: date | datetime | None, zone: Any) -> str | None:
    if isinstance(moment, datetime):
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).isoformat(timespec="seconds")
    return moment.isoformat() if moment else None
