"""Verifies what an action is going to rest on: that an answer named these rows, or that there are none like those.

Whoever acts on data calls this before it acts, and acts on nothing that is not verified.
"""

from collections.abc import Sequence

import pyarrow as pa

from engine.completeness import assess
from engine.dataset import Language
from engine.errors import EvidenceInvalid
from engine.ledger import DIGEST, Id, NotAnId, Rows, key_columns, ledger_of
from engine.permissions import sees_scene
from engine.query import Page, Plan
from gateway.arguments import VerifyArguments
from gateway.audit import Disclosure
from gateway.errors import InvalidArguments
from gateway.house import Reply
from gateway.identity import Caller
from gateway.present import evidence as present
from gateway.steps import Steps
from gateway.verdicts import Recheck, Refusal, RowRefusal, Standing, Verdict


async def verify_evidence(
    steps: Steps,
    caller: Caller,
    token: str,
    ids: Sequence[Id] = (),
    *,
    absent: Sequence[Id] = (),
    require_complete: bool = False,
    recheck: bool = False,
) -> Verdict:
    """Whether the answer, with the pages before it, named every row in `ids` and none in `absent`.

    An id is the value of the answer's only key column, or a mapping of key columns to values, as the answer wrote them.
    That something is absent follows from an answer alone that is complete and has no limit. `recheck` reads the query
    again, under the same filters and the present Grant.

    Raises InvalidArguments for an id that no row could have, and with `recheck` TimeBudgetExceeded, SourceUnavailable,
    Busy or QuotaReached.
    """
    try:
        standing = await standing_evidence(steps, caller, token)
    except EvidenceInvalid as invalid:
        return Verdict((Refusal(invalid.reason),), None)
    refusals: list[Refusal] = []
    if (require_complete or absent) and not standing.completeness.complete:
        refusals.append(Refusal("incomplete"))
    resolved = standing.plan.resolved
    if absent and (resolved.limit is not None or resolved.limit_per_group is not None):
        refusals.append(Refusal("limitedScope", tuple(absent)))
    if not key_columns(resolved):
        lost = (*ids, *absent)
        return Verdict((*refusals, Refusal("noKey", lost)) if lost else tuple(refusals), standing)
    entries = standing.evidence.entries
    rows = _rows(entries, standing.plan)
    named, claimed = _at(rows, ids, "ids"), _at(rows, absent, "absent")
    refusals += _about("idsNotInResult", tuple(each for each, at in named if not at))
    refusals += _about("idsInResult", tuple(each for each, at in claimed if at))
    if not recheck:
        return Verdict(tuple(refusals), standing)
    there, gone = [it for it in named if it[1]], [it for it in claimed if not it[1]]
    again = await _reread(steps, caller, standing, entries, there, gone)
    refusals += _about("idsChanged", again.changed)
    refusals += _about("idsVanished", again.vanished)
    refusals += _about("idsAppeared", again.appeared)
    refusals += _about("idsNotReread", again.unread)
    return Verdict(tuple(refusals), standing, again)


async def verified(steps: Steps, asked: VerifyArguments, caller: Caller) -> Reply:
    """The verdict in wire form. Raises what `verify_evidence` raises."""
    verdict = await verify_evidence(
        steps,
        caller,
        asked.token,
        asked.ids,
        absent=asked.absent,
        require_complete=asked.require_complete,
        recheck=asked.recheck,
    )
    return Reply(present.verdict(verdict, asked.language), {}, None, _told(verdict))


def _told(verdict: Verdict) -> Disclosure:
    if verdict.standing is None:
        return Disclosure()
    scope, grant = verdict.standing.evidence.scope, verdict.standing.plan.grant
    return Disclosure(scope.noted.get("scene"), grant.fingerprint, grant.api_no)


async def standing_evidence(steps: Steps, caller: Caller, token: str) -> Standing:
    """Raises EvidenceInvalid where the caller may not rest on the token, or no longer."""
    evidence = await steps.engine.evidence.read(token, caller.principal.id, now=steps.wall())
    noted = evidence.scope.noted
    if ref := noted.get("scene"):
        scene = steps.catalog.by_ref.get(ref)
        if scene is None:
            raise EvidenceInvalid("definitionChanged")
        if not sees_scene(steps.catalog.policies, caller.principal, scene_id=scene.scene_id, tags=scene.tags):
            raise EvidenceInvalid("permissionChanged")
    plan = steps.engine.plan_of(evidence.scope, caller.principal)
    frozen, returned = evidence.snapshot, evidence.returned
    page = Page((), 0, returned if returned < frozen.rows.num_rows else None, ())
    language: Language = "zh" if noted.get("language") == "zh" else "en"
    return Standing(evidence, plan, assess(plan, frozen, page, cursor=""), language)


async def _reread(
    steps: Steps,
    caller: Caller,
    standing: Standing,
    entries: pa.Table,
    named: Sequence[tuple[Id, list[int]]],
    absent: Sequence[tuple[Id, list[int]]],
) -> Recheck:
    """The rows of each id then and now, by their digests: also where several rows are called alike."""
    at = steps.wall()
    async with steps.quotas.query(caller.principal.id, steps.caps(caller)):
        fresh = await steps.engine.read_again(standing.plan, wall=at)
    ledger = ledger_of(fresh.rows, standing.plan.resolved)
    rows = _rows(ledger, standing.plan)
    then, now = entries.column(DIGEST).to_pylist(), ledger.column(DIGEST).to_pylist()
    kinds: dict[str, list[Id]] = {it: [] for it in ("unchanged", "changed", "vanished", "appeared", "unread")}
    for (each, before), (_, after) in zip(named, rows.at(each for each, _ in named), strict=True):
        if not after:
            kinds["unread" if fresh.cut_by else "vanished"].append(each)
        else:
            same = sorted(then[it] for it in before) == sorted(now[it] for it in after)
            kinds["unchanged" if same else "changed"].append(each)
    for each, after in rows.at(each for each, _ in absent):
        if after or fresh.cut_by:
            kinds["appeared" if after else "unread"].append(each)
    return Recheck(at, fresh.data_as_of, *(tuple(kinds[it]) for it in kinds))


def _rows(entries: pa.Table, plan: Plan) -> Rows:
    return Rows(entries, key_columns(plan.resolved), plan.resolved.dataset)


def _at(rows: Rows, ids: Sequence[Id], argument: str) -> list[tuple[Id, list[int]]]:
    try:
        return rows.at(ids)
    except NotAnId as wrong:
        raise InvalidArguments(argument, wrong.id, "id", wrong.expected) from wrong


def _about(code: RowRefusal, ids: tuple[Id, ...]) -> list[Refusal]:
    return [Refusal(code, ids)] if ids else []
