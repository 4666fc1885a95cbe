"""Says whether an answer is whole, from the rule, the filters and the snapshot.

Never looks at whether hidden rows exist.
"""

from engine.query import (
    AnyOf,
    Completeness,
    Condition,
    Incompleteness,
    MorePages,
    OutOfTime,
    Page,
    Plan,
    QuotaOver,
    Resolved,
    ResultLimit,
    RowScope,
    Snapshot,
    SourceBroken,
    SourceFailed,
    TimeOver,
    VisibilityRestricted,
)


def assess(
    plan: Plan, snapshot: Snapshot, page: Page, *, cursor: str | None, over: QuotaOver | None = None
) -> Completeness:
    """Every reason why rows of the scope may be missing from the pages so far. `over`: why the page is short."""
    grant = plan.grant
    reasons: list[Incompleteness] = []
    if page.next_offset is not None and cursor is not None:
        reasons.append(MorePages(cursor, remaining=snapshot.rows.num_rows - page.next_offset))
    if over is not None:
        reasons.append(over)
    if snapshot.cut_by is not None:
        limit = grant.caps.rows if snapshot.cut_by == "rows" else grant.caps.bytes
        reasons.append(ResultLimit(snapshot.cut_by, limit))
    match snapshot.stopped:
        case OutOfTime(budget_ms, suggested_ms):
            minimum_ms = min(suggested_ms, grant.caps.time_ms)
            reasons.append(TimeOver(budget_ms, minimum_ms if minimum_ms > budget_ms else None))
        case SourceFailed(retry_after_s):
            reasons.append(SourceBroken(retry_after_s))
    if grant.rows and not any(_inside(plan.resolved, scopes) for scopes in grant.rows):
        reasons.append(VisibilityRestricted(grant.roles))
    return Completeness(tuple(reasons))


def _inside(resolved: Resolved, scopes: tuple[RowScope, ...]) -> bool:
    """Whether the query's own filters ask for no more than the restrictions allow; a boundary is no restriction."""
    return all(_implied(resolved.where, scope) for scope in scopes if scope.kind == "restriction")


def _implied(where: tuple[Condition | AnyOf, ...], scope: RowScope) -> bool:
    allowed = set(map(str, scope.values))
    return any(
        isinstance(condition, Condition)
        and condition.field == scope.field
        and condition.operator == "in"
        and {str(value) for value in condition.values} <= allowed
        for condition in where
    )
