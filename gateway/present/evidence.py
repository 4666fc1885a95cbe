"""A verdict in wire form: for the program that acts, and for the person who must approve what rests on it."""

from engine.dataset import Language
from engine.encode import encode_rows
from engine.ledger import key_columns, missing_key
from engine.query import Incompleteness, MorePages
from gateway.messages import say
from gateway.present.answers import as_of, moment, reason_of, scope
from gateway.present.scene import Wire
from gateway.verdicts import Recheck, Refusal, Standing, Verdict

_SHOWN_ROWS = 10


def verdict(it: Verdict, language: Language | None) -> Wire:
    """In `language`, or in that of the answer that the evidence came with."""
    spoken: Language = language or (it.standing.language if it.standing else "en")
    return {
        "verified": it.verified,
        "language": spoken,
        "refusals": [_refusal(refusal, it, spoken) for refusal in it.refusals],
        **(_standing(it.standing, spoken) if it.standing else {}),
        **({"recheck": _recheck(it.recheck, it.standing)} if it.recheck and it.standing else {}),
    }


def _standing(standing: Standing, language: Language) -> Wire:
    evidence, plan = standing.evidence, standing.plan
    frozen, zone = evidence.snapshot, plan.resolved.dataset.zone
    return {
        "complete": standing.completeness.complete,
        "reasons": [_without_cursor(it, language) for it in standing.completeness.reasons],
        "asked": _asked(standing, language),
        "scope": scope(plan, evidence.scope.noted.get("scene"), language),
        "snapshot": {
            "id": frozen.key,
            "takenAt": moment(frozen.taken_at),
            "dataAsOf": as_of(frozen.data_as_of, zone),
        },
        "named": len(evidence.entries),
        "first": _first(standing),
        "verifiableUntil": moment(frozen.expires_at),
    }


def _asked(standing: Standing, language: Language) -> Wire:
    resolved = standing.plan.resolved
    return {
        "by": standing.evidence.scope.principal_id,
        "of": resolved.dataset.title.said_in(language),
        "columns": [column.label for column in resolved.columns],
        **({"groupBy": [column.label for column in resolved.groups]} if resolved.grouped else {}),
        "orderBy": [f"{'-' if it.descending else ''}{it.column.label}" for it in resolved.order],
    }


def _first(standing: Standing) -> list[Wire]:
    """The rows that were named first, as an id may name them."""
    keys = key_columns(standing.plan.resolved)
    labels = [column.label for column in keys]
    entries = standing.evidence.entries.select(labels).slice(0, _SHOWN_ROWS)
    rows, _ = encode_rows(entries, keys, zone=standing.plan.resolved.dataset.zone)
    return [dict(zip(labels, row, strict=True)) for row in rows]


def _without_cursor(reason: Incompleteness, language: Language) -> Wire:
    """Evidence goes on to no page: whoever has the answer has its cursor."""
    told = reason_of(reason, language)
    if isinstance(reason, MorePages):
        return {"code": told["code"], "message": say("show.morePages", language, remaining=reason.remaining)}
    return told


def _refusal(refusal: Refusal, it: Verdict, language: Language) -> Wire:
    key = f"refused.{refusal.code}"
    missing = ", ".join(missing_key(it.standing.plan.resolved)) if it.standing else ""
    return {
        "code": refusal.code,
        "message": say(f"evidence.{refusal.code}", language),
        "suggestion": say(
            f"{key}.total" if refusal.code == "noKey" and not missing else key, language, missing=missing
        ),
        **({"ids": list(refusal.ids)} if refusal.ids else {}),
    }


def _recheck(recheck: Recheck, standing: Standing) -> Wire:
    return {
        "readAt": moment(recheck.read_at),
        "dataAsOf": as_of(recheck.data_as_of, standing.plan.resolved.dataset.zone),
        "unchanged": list(recheck.unchanged),
        "changed": list(recheck.changed),
        "vanished": list(recheck.vanished),
        "appeared": list(recheck.appeared),
        "unread": list(recheck.unread),
    }
