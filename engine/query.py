"""The engine's frozen shapes, in the order in which data takes them:

DataQuery (as said) ▶ Grant (what the caller may see) ▶ Resolved (every name and value bound) ▶ Plan (what runs where) ▶
Snapshot (frozen rows) ▶ Page and Completeness (what is handed out).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as setting
from datetime import date, datetime
from decimal import Decimal
from typing import Literal
from zoneinfo import ZoneInfo

import pyarrow as pa

from engine.dataset import Aggregation, Dataset, Field, FiscalYear, Source, WeekStart
from engine.masks import Mask, Use
from engine.policy import Caps, RowRuleText

Operator = Literal["eq", "ne", "in", "notIn", "gt", "gte", "lt", "lte", "between", "contains", "startsWith", "isNull"]
Grain = Literal["hour", "day", "week", "month", "quarter", "year"]
MASK_KEY = "mask_key"
"""The parameter that holds the secret of pseudonyms."""

Scalar = str | int | float | bool | Decimal | date | datetime | None


@dataclass(frozen=True)
class DataQuery:
    """What a caller asks of one dataset, in the caller's own words for values."""

    api_no: str
    filters: Mapping[str, object]
    """Field name to a value, a list, or a mapping of one operator; `or` to a list of such mappings."""
    fields: tuple[str, ...]
    group_by: tuple[str, ...] | None = None
    """None: raw rows, unless a field has to be computed over groups. (): one row for everything."""
    grain: tuple[str, ...] = ()
    """Where `group_by` is None: rows are grouped by the dimensions among `fields`, or by these where there are none."""
    order_by: tuple[str, ...] = ()
    limit: int | None = None
    limit_per_group: int | None = None
    within: tuple[str, ...] | None = None
    """The only fields that exist for this query (a scene's); None: all that the Grant allows."""
    max_days: int | None = None
    """The longest span of the time column that may be asked for."""
    time_budget_ms: int | None = None


@dataclass(frozen=True)
class RowScope:
    """A row rule with the principal's own values in it: a row is readable where `field` is one of `values`."""

    field: str
    values: tuple[str | int | bool | date, ...]
    kind: Literal["boundary", "restriction"]
    role: str
    """Whose rule it is."""
    written: RowRuleText


@dataclass(frozen=True)
class Grant:
    """What one principal may read of one dataset. Only `permissions.authorize` makes one; no SQL is written without."""

    principal_id: str
    roles: tuple[str, ...]
    api_no: str
    fields: frozenset[str]
    masks: Mapping[str, Mask]
    """Of stored fields among `fields`."""
    unusable: Mapping[Use, frozenset[str]]
    """Of `fields`, those whose masked values a query may show and aggregate, but not use there."""
    rows: tuple[tuple[RowScope, ...], ...]
    """Alternatives, one per role: a row is readable where all scopes of one alternative hold. Empty: every row."""
    caps: Caps
    fingerprint: str
    """Hex digest of all above but who asks, id and roles: equal for callers who see the same."""
    mask_key: str = setting(repr=False)
    """The secret of pseudonyms."""

    def allows(self, name: str, use: Use) -> bool:
        """Whether the field is seen and may be used so."""
        return name in self.fields and name not in self.unusable[use]

    def masks_apart(self, column: "Column", use: Use) -> bool:
        """Whether a mask keeps the column from that use. What is counted or aggregated by name is no longer it."""
        return column.field is not None and column.aggregation is None and column.field.name in self.unusable[use]


@dataclass(frozen=True)
class Condition:
    """One comparison with canonical values. A time span is two conditions: gte its start, lt its end."""

    field: str
    operator: Operator
    values: tuple[Scalar, ...]


@dataclass(frozen=True)
class AnyOf:
    """At least one branch holds; within a branch every condition does."""

    branches: tuple[tuple[Condition, ...], ...]


@dataclass(frozen=True)
class Clock:
    """The session's pinned now, and the dataset's calendar."""

    now: datetime
    zone: ZoneInfo
    week_start: WeekStart
    fiscal_year: FiscalYear | None = None


@dataclass(frozen=True)
class TimeSpan:
    """The queried part of the time column, half-open; None: open to that side."""

    start: date | datetime | None
    end: date | datetime | None


@dataclass(frozen=True)
class Column:
    """One column of the answer. `field` is None for row_count."""

    label: str
    """As asked: `cost`, `cost:avg`, `date:week`."""
    field: Field | None = setting(hash=False)  # a definition is slow to hash, and the label tells columns apart
    aggregation: Aggregation | None = None
    """How the rows of a group become one value; None for a dimension, a computed metric, and in raw rows."""
    grain: Grain | None = None

    @property
    def groups(self) -> bool:
        """Whether rows of a grouped answer are told apart by this column."""
        return self.field is not None and self.field.role == "dimension" and self.aggregation is None

    @property
    def type(self) -> str:
        """The wire type: that of the field, but for averages, counts, sums and truncated times."""
        if self.field is None or self.aggregation in ("count", "countDistinct"):
            return "int32" if self.field is None else "int64"
        if self.aggregation in ("avg", "median"):
            return self.field.type if self.field.type.startswith("decimal") else "float64"
        if self.grain is not None and self.grain != "hour":
            return "date"
        if self.aggregation == "sum" and not self.field.type.startswith("decimal"):
            return "float64" if self.field.type.startswith("float") else "int64"  # it outgrows the width of its parts
        return self.field.type

    @property
    def unit(self) -> str | None:
        return None if self.field is None or self.aggregation in ("count", "countDistinct") else self.field.unit


@dataclass(frozen=True)
class OrderKey:
    column: Column
    descending: bool


@dataclass(frozen=True)
class Note:
    """One thing that the engine changed or assumed, and the caller must know. The words come later."""

    code: Literal[
        "VALUE_NORMALISED",
        "SORT_DEFAULTED",
        "LIMIT_APPLIED",
        "PARTIAL_FIELD_SET",
        "VALUE_NOT_FINITE",
        "CELL_TRUNCATED",
        "STALE_DATA",
    ]
    field: str | None = None
    received: object = None
    used: object = None
    ambiguous: bool = False
    owner: str | None = None


@dataclass(frozen=True)
class Canonical:
    """One filter in canonical form. `alternatives` are joined by OR, the conditions within one by AND."""

    alternatives: tuple[tuple[Condition, ...], ...]
    spoken: object
    """The same as the wire says it: a value, a list, {"from", "to"}, or {operator: value}."""
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class RowFilter:
    """One filter of the query, under the name that the caller gave it. All its conditions hold together."""

    name: str
    conditions: tuple[Condition | AnyOf, ...]


@dataclass(frozen=True)
class Resolved:
    """A query in which every name is a visible field and every value is canonical."""

    dataset: Dataset
    columns: tuple[Column, ...]
    grouped: bool
    filters: tuple[RowFilter, ...]
    having: tuple[tuple[Column, Condition], ...]
    order: tuple[OrderKey, ...]
    limit: int | None
    limit_per_group: int | None
    span: TimeSpan | None
    spoken_filters: Mapping[str, object]
    """The canonical filters as the wire states them: inclusive ranges, plain values."""
    notes: tuple[Note, ...]

    @property
    def where(self) -> tuple[Condition | AnyOf, ...]:
        return tuple(condition for row_filter in self.filters for condition in row_filter.conditions)

    @property
    def groups(self) -> tuple[Column, ...]:
        """The columns that a row of a grouped answer stands for."""
        return tuple(column for column in self.columns if column.groups)


@dataclass(frozen=True)
class Statement:
    """SQL and its parameters, which never meet in one string. The SQL names them as $name."""

    sql: str
    parameters: Mapping[str, Scalar]

    @property
    def told(self) -> Mapping[str, Scalar]:
        """The parameters that traces and people may see: all but the secret of pseudonyms."""
        return {name: value for name, value in self.parameters.items() if name != MASK_KEY}


@dataclass(frozen=True)
class Plan:
    """All that is decided before any store is touched."""

    resolved: Resolved
    grant: Grant
    source: Source
    route_reason: str
    statement: Statement
    unsorted: Statement | None
    """The same rows as the store comes upon them, each with its key, where the caller asked for no order and no limit:
    then what was read when the time is up is an answer. Otherwise nothing is known before everything was read."""
    row_cap: int
    """Rows that may be kept. The statement yields one more: the only way to know that rows were cut."""


@dataclass(frozen=True)
class EmptyFinding:
    """Why nothing was found: the data's own range, and per filter how many visible rows match without it alone."""

    first: str | None
    last: str | None
    without: Mapping[str, int]


@dataclass(frozen=True)
class OutOfTime:
    """Reading ended because `budget_ms` were over. A budget of `suggested_ms` may suffice, no promise."""

    budget_ms: int
    suggested_ms: int


@dataclass(frozen=True)
class SourceFailed:
    """Reading ended because the store failed, after it had given some rows."""

    retry_after_s: int


Stopped = OutOfTime | SourceFailed


CHANGE = Column("since:change", Field(name="since:change", role="dimension", type="string"))
"""The first column of what changed since an evidence: added, changed or removed. No field's label can be this."""


@dataclass(frozen=True)
class Since:
    """What the rows of a snapshot are where they are changes, in numbers."""

    evidence: str
    """Id of the ledger that the pages of these changes complete."""
    taken_at: datetime
    """Of the rows before."""
    added: int
    changed: int
    removed: int
    unchanged: int


@dataclass(frozen=True)
class Snapshot:
    """Rows frozen at one moment, in their final order. `key` says what they answer; `id` names this one."""

    id: str
    key: str
    taken_at: datetime
    expires_at: datetime
    data_as_of: date | datetime | None
    """The latest value of the dataset's time column when the rows were read."""
    rows: pa.Table
    total_rows: int | None
    """How many rows the query has; None where that was not counted."""
    cut_by: Literal["rows", "bytes"] | None
    source: str
    empty: EmptyFinding | None
    """Kept with the rows, since a repeated question has the same answer for the snapshot's life."""
    since: Since | None = None
    """Where the rows are what changed since an evidence: CHANGE, then the query's columns."""
    data_since: date | datetime | None = None
    """The first value of the time column, where the query compares with an earlier period."""
    stopped: Stopped | None = None
    """Why reading ended early: then the rows are some of the scope's, sorted among themselves."""


@dataclass(frozen=True)
class PageBounds:
    """How much one page may hold."""

    rows: int = 50
    bytes: int = 64 << 10
    tokens: int = 4_000


@dataclass(frozen=True)
class ByteQuota:
    """What one caller may still be handed out before a window of time ends."""

    left: int
    """Bytes of rows in compact JSON, more than 0."""
    limit: int
    """Bytes of the whole window."""
    retry_after_s: int
    """Seconds until the window ends."""


@dataclass(frozen=True)
class Page:
    """Rows `offset` up to `offset + len(rows)` of a snapshot, in wire encoding."""

    rows: tuple[tuple[object, ...], ...]
    offset: int
    next_offset: int | None
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class MorePages:
    """MORE_PAGES_AVAILABLE"""

    cursor: str
    remaining: int


@dataclass(frozen=True)
class ResultLimit:
    """RESULT_LIMIT_REACHED: a cap that the caller did not ask for cut the rows."""

    what: Literal["rows", "bytes"]
    limit: int


@dataclass(frozen=True)
class TimeOver:
    """TIME_BUDGET_EXCEEDED: the rows are those that were read when the time was up."""

    budget_ms: int
    minimum_ms: int | None
    """A budget that may suffice; None where the caller may have no more time."""


@dataclass(frozen=True)
class SourceBroken:
    """SOURCE_UNAVAILABLE: the rows are those that were read when the store failed."""

    retry_after_s: int


@dataclass(frozen=True)
class VisibilityRestricted:
    """VISIBILITY_RESTRICTED: a row rule reaches into what was asked. Follows from rule and filters alone."""

    roles: tuple[str, ...]


@dataclass(frozen=True)
class QuotaOver:
    """QUOTA_EXCEEDED: the page ends where the caller's quota does; the rest follows by its cursor."""

    limit: int
    retry_after_s: int


Incompleteness = MorePages | QuotaOver | ResultLimit | TimeOver | SourceBroken | VisibilityRestricted


@dataclass(frozen=True)
class Completeness:
    """Complete exactly when there is no reason against it."""

    reasons: tuple[Incompleteness, ...]

    @property
    def complete(self) -> bool:
        return not self.reasons


@dataclass(frozen=True)
class Answer:
    plan: Plan
    digest: str
    """Of the statement: equal for equal arguments, however they were said."""
    snapshot: Snapshot
    snapshot_hit: bool
    page: Page
    completeness: Completeness
    notes: tuple[Note, ...]
    evidence: str
    """Signed: what the pages up to this one have named."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """Those of the page's rows."""
        return columns_of(self.snapshot, self.plan.resolved)


def columns_of(snapshot: Snapshot, resolved: Resolved) -> tuple[Column, ...]:
    """The columns of the snapshot's rows, which answer the resolved query."""
    return resolved.columns if snapshot.since is None else (CHANGE, *resolved.columns)
