"""apiCall and a person's query in wire form."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from engine.dataset import Dataset, Language
from engine.encode import wire_value
from engine.query import (
    Answer,
    AnyOf,
    Column,
    EmptyFinding,
    Grant,
    Incompleteness,
    MorePages,
    Note,
    Plan,
    QuotaOver,
    Resolved,
    ResultLimit,
    Since,
    Snapshot,
    SourceBroken,
    TimeOver,
    VisibilityRestricted,
)
from gateway.messages import say
from gateway.present.caveats import caveats
from gateway.present.scene import Wire, deprecation, spoken
from scene_kb.models import Scene

_ECHOED_VALUES = 50
_ECHOED_CHARACTERS = 200


def called(
    answer: Answer,
    language: Language,
    *,
    scene: Scene | None = None,
    defaulted: Mapping[str, object] | None = None,
    withheld: Sequence[str] = (),
) -> Wire:
    """`withheld`: fields that the scene shows by default and the caller may not see, where that may be said."""
    resolved, snapshot, page = answer.plan.resolved, answer.snapshot, answer.page
    zone = resolved.dataset.zone
    noted = (_warning(note, zone, language) for note in answer.notes)
    applied = {name: resolved.spoken_filters.get(name, value) for name, value in (defaulted or {}).items()}
    wire: Wire = {
        "status": "complete" if answer.completeness.complete else "partial",
        "completeness": {
            "complete": answer.completeness.complete,
            "truncated": _truncated(snapshot),
            "statement": _statement(answer, language) + caveats(answer, language),
            "reasons": [reason_of(it, language) for it in answer.completeness.reasons],
            **({"workDone": _work_done(snapshot)} if _truncated(snapshot) else {}),
            "scope": scope(answer.plan, scene.ref if scene else None, language),
            "snapshot": {
                "id": snapshot.id,
                "takenAt": moment(snapshot.taken_at),
                "expiresAt": moment(snapshot.expires_at),
                "dataAsOf": as_of(snapshot.data_as_of, zone),
            },
        },
        "columns": [
            {
                "name": column.label,
                "type": column.type,
                **({"unit": column.unit} if column.unit else {}),
                **({"flags": ["masked"]} if _masked(column, resolved.dataset) else {}),
            }
            for column in answer.columns
        ],
        "rows": [list(row) for row in page.rows],
        "returned": len(page.rows),
        **({"totalRows": snapshot.total_rows} if snapshot.total_rows is not None else {}),
        "warnings": [*_defaulted(applied, zone, language), *noted],
    }
    if scene is not None:
        wire["warnings"] = [*deprecation(scene, language), *_withheld(withheld, language), *wire["warnings"]]
    texts = [column.label for column in answer.columns if column.field and "freeText" in column.field.flags]
    if texts and page.rows:
        wire["untrusted"] = {"columns": texts, "note": say("untrusted", language)}
    if snapshot.empty is not None:
        wire["empty"] = _empty(snapshot.empty, language)
    if snapshot.since is not None:
        wire["since"] = _since(snapshot.since)
    return {**wire, "evidence": answer.evidence}


def scope(plan: Plan, scene_ref: str | None, language: Language) -> Wire:
    """What was asked, and within which permission."""
    resolved = plan.resolved
    return {
        **({"scene": scene_ref} if scene_ref else {"apiNo": resolved.dataset.api_no}),
        "filters": {name: echoed(it, resolved.dataset.zone) for name, it in resolved.spoken_filters.items()},
        **({"timeZone": resolved.dataset.time_zone} if _names_days_of_moments(resolved) else {}),
        "limit": resolved.limit,
        **({"limitPerGroup": resolved.limit_per_group} if resolved.limit_per_group is not None else {}),
        "visibility": _visibility(plan.grant, language),
    }


def _masked(column: Column, dataset: Dataset) -> bool:
    """Whether its values are not those that are stored, or are computed from such."""
    return (
        column.field is not None and column.field.name in dataset.by_name and "masked" in dataset.flags_of(column.field)
    )


def _names_days_of_moments(resolved: Resolved) -> bool:
    """Whether days are said of a column of moments, which are other moments in every zone."""
    branches = (it.branches if isinstance(it, AnyOf) else ((it,),) for it in resolved.where)
    filtered = {condition.field for alternatives in branches for branch in alternatives for condition in branch}
    return any(resolved.dataset.by_name[name].type.startswith("timestamp") for name in filtered)


def _since(since: Since) -> Wire:
    return {
        "takenAt": moment(since.taken_at),
        "added": since.added,
        "changed": since.changed,
        "removed": since.removed,
        "unchanged": since.unchanged,
    }


def _truncated(snapshot: Snapshot) -> bool:
    """Whether rows of the scope were left unread, or not kept."""
    return snapshot.cut_by is not None or snapshot.stopped is not None


def _work_done(snapshot: Snapshot) -> Wire:
    rows, of = snapshot.rows.num_rows, snapshot.total_rows
    return {"rowsRead": rows, **({"share": float(f"{rows / of:.3g}")} if of else {})}


def _statement(answer: Answer, language: Language) -> str:
    """In words, what may be concluded from the answer: that nothing is missing, or how much is in hand."""
    if not answer.completeness.complete:
        return _partial(answer, language)
    if (since := answer.snapshot.since) is not None:
        counts = {"added": since.added, "changed": since.changed, "removed": since.removed}
        return say("complete.since", language, then=moment(since.taken_at), unchanged=since.unchanged, **counts)
    limit, total = answer.plan.resolved.limit, answer.snapshot.rows.num_rows
    if answer.snapshot.empty is not None or total == 0:
        return say("complete.empty", language)
    if (per_group := answer.plan.resolved.limit_per_group) is not None:
        return say("complete.limitPerGroup", language, limit=per_group, n=total, order=_order(answer, language))
    if limit is not None and total >= limit:
        return say("complete.limit", language, limit=limit, n=total, order=_order(answer, language))
    return say("complete.lastPage" if answer.page.offset else "complete", language, n=total)


def _partial(answer: Answer, language: Language) -> str:
    """What is in hand, out of how many, and why it stops there."""
    page, snapshot, reasons = answer.page, answer.snapshot, answer.completeness.reasons
    why = say("and", language).join(_why(reason, language) for reason in reasons)
    if snapshot.empty is not None or not page.rows:
        return say("partial.empty", language, why=why)
    rows = snapshot.rows.num_rows
    n = snapshot.total_rows if snapshot.total_rows is not None else say("partial.atLeast", language, n=rows)
    restricted = any(isinstance(reason, VisibilityRestricted) for reason in reasons)
    total = say("partial.readable" if restricted else "partial.total", language, n=n)
    return say("partial", language, first=page.offset + 1, last=page.offset + len(page.rows), total=total, why=why)


def _why(reason: Incompleteness, language: Language) -> str:
    match reason:
        case MorePages():
            return say("partial.morePages", language)
        case QuotaOver(limit, _):
            return say("partial.quota", language, limit=limit)
        case ResultLimit(what, limit):
            return say(f"partial.cap.{what}", language, limit=limit)
        case TimeOver(budget_ms, _):
            return say("partial.time", language, budget=budget_ms)
        case SourceBroken():
            return say("partial.source", language)
        case VisibilityRestricted(roles):
            return say("partial.restricted", language, roles=", ".join(roles))


def _order(answer: Answer, language: Language) -> str:
    """What came first, as orderBy says it; nothing where the caller did not ask for an order."""
    keys = ", ".join(f"{'-' if key.descending else ''}{key.column.label}" for key in answer.plan.resolved.order)
    return say("ordered", language, keys=keys) if keys else ""


def reason_of(reason: Incompleteness, language: Language) -> Wire:
    match reason:
        case MorePages(cursor, remaining):
            return {
                "code": "MORE_PAGES_AVAILABLE",
                "message": say("MORE_PAGES_AVAILABLE", language, remaining=remaining),
                "continuation": {"kind": "nextPage", "cursor": cursor, "remaining": remaining},
            }
        case QuotaOver(limit, seconds):
            return {
                "code": "QUOTA_EXCEEDED",
                "message": say("QUOTA_EXCEEDED", language, limit=limit, seconds=seconds),
                "continuation": {"kind": "retryAfter", "seconds": seconds},
            }
        case ResultLimit(what, limit):
            return {
                "code": "RESULT_LIMIT_REACHED",
                "message": say(f"RESULT_LIMIT_REACHED.{what}", language, limit=limit),
                "continuation": {"kind": "narrowQuery", "what": what, "limit": limit},
            }
        case TimeOver(budget_ms, None):
            return {
                "code": "TIME_BUDGET_EXCEEDED",
                "message": say("TIME_BUDGET_EXCEEDED.narrow", language, budget=budget_ms),
                "continuation": {"kind": "narrowQuery", "what": "time", "limit": budget_ms},
            }
        case TimeOver(budget_ms, minimum_ms):
            return {
                "code": "TIME_BUDGET_EXCEEDED",
                "message": say("TIME_BUDGET_EXCEEDED", language, budget=budget_ms, minimum=minimum_ms),
                "continuation": {"kind": "retryWithBudget", "minimumMs": minimum_ms},
            }
        case SourceBroken(seconds):
            return {
                "code": "SOURCE_UNAVAILABLE",
                "message": say("SOURCE_UNAVAILABLE", language, seconds=seconds),
                "continuation": {"kind": "retryAfter", "seconds": seconds},
            }
        case VisibilityRestricted(roles):
            return {
                "code": "VISIBILITY_RESTRICTED",
                "message": say("VISIBILITY_RESTRICTED", language, roles=", ".join(roles)),
                "continuation": {"kind": "requestAccess"},
            }


def _visibility(grant: Grant, language: Language) -> str:
    roles = ", ".join(grant.roles)
    bounds = {
        f"{scope.field} = {'|'.join(map(str, scope.values))}"
        for scopes in grant.rows
        for scope in scopes
        if scope.kind == "boundary" and scope.field in grant.fields and scope.field not in grant.masks
    }
    if not bounds:
        return say("visibility", language, roles=roles)
    return say("visibility.boundary", language, roles=roles, bounds=", ".join(sorted(bounds)))


def _warning(note: Note, zone: ZoneInfo, language: Language) -> Wire:
    key = "VALUE_NORMALISED.ambiguous" if note.ambiguous else note.code
    message = say(key, language, field=note.field, received=spoken(note.received), used=spoken(note.used))
    wire: Wire = {"code": note.code, "message": message}
    if note.field is not None:
        wire["field"] = note.field
    if note.received is not None:
        wire["from"] = echoed(note.received, zone)
    if note.used is not None:
        wire["to"] = echoed(note.used, zone)
    if note.owner is not None:
        wire["owner"] = note.owner
    return wire


def _withheld(names: Sequence[str], language: Language) -> list[Wire]:
    if not names:
        return []
    message = say("PARTIAL_FIELD_SET", language, field=", ".join(names))
    return [{"code": "PARTIAL_FIELD_SET", "message": message, "fields": dict.fromkeys(names, "notPermitted")}]


def _defaulted(applied: Mapping[str, object], zone: ZoneInfo, language: Language) -> list[Wire]:
    """`applied`: the filters that nobody asked for, in canonical form."""
    return [
        {
            "code": "DEFAULT_SCOPE_APPLIED",
            "message": say("DEFAULT_SCOPE_APPLIED", language, field=name, used=spoken(echoed(value, zone))),
            "field": name,
            "to": echoed(value, zone),
        }
        for name, value in applied.items()
    ]


def echoed(value: object, zone: ZoneInfo) -> object:
    """A filter as it is held, in wire values; so much of it as tells which it is."""
    if isinstance(value, Mapping):
        return {operator: echoed(operand, zone) for operator, operand in value.items()}
    if isinstance(value, list | tuple):
        shown = [echoed(item, zone) for item in value[:_ECHOED_VALUES]]
        return shown if len(value) <= _ECHOED_VALUES else [*shown, f"… {len(value) - _ECHOED_VALUES}"]
    if isinstance(value, str) and len(value) > _ECHOED_CHARACTERS:
        return f"{value[:_ECHOED_CHARACTERS]}…"
    return wire_value(value, zone)


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


def moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def as_of(at: date | datetime | None, zone: ZoneInfo) -> str | None:
    if isinstance(at, datetime):
        return (at if at.tzinfo else at.replace(tzinfo=zone)).isoformat(timespec="seconds")
    return at.isoformat() if at else None
