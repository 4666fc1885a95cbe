"""The logical wide table behind an apiNo, as a curator writes it in apis/*.yaml.

Knows no store and no SQL dialect: a dataset says what its fields mean, the backends say how to read them.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator
from pydantic import Field as Setting
from pydantic.alias_generators import to_camel
from pydantic_core import InitErrorDetails, PydanticCustomError

from engine.expressions import ExpressionFault, operands

Language = Literal["zh", "en"]
Role = Literal["dimension", "metric"]
Aggregation = Literal["sum", "avg", "min", "max", "count", "countDistinct", "median"]
Flag = Literal["estimated", "deprecated", "late", "sensitive", "freeText"]
WeekStart = Literal["monday", "sunday"]
Period = Literal["day", "week", "month", "quarter", "year"]
NamedAfter = Literal["start", "end"]

ROW_COUNT = "row_count"

_TYPE = re.compile(
    r"string|boolean|int8|int16|int32|int64|uint8|uint16|uint32|uint64|float32|float64|date|time|timestamp|timestamptz"
    r"|binary|json|decimal\((?:[1-9]|[12]\d|3[0-8]),(?:\d|[12]\d|3[0-8])\)"
)
_HAN = re.compile(r"[㐀-䶿一-鿿\U00020000-\U0003ffff]")


def language_of(text: str) -> Language:
    """zh as soon as one Han character stands in the text: a mixed question is answered in Chinese."""
    return "zh" if _HAN.search(unicodedata.normalize("NFKC", text)) else "en"


class Definition(BaseModel):
    """What is parsed from a catalog: frozen, camelCase in the files, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


Place = tuple[str | int, ...]
"""Where a node stands in a definition: keys and positions from the top."""

Misfit = tuple[Place, str]
"""One fault between parts of a definition: where, and a sentence of the form `what is wrong; what to do`."""


def refuse(definition: Definition, misfits: Iterable[Misfit]) -> None:
    """Raises one ValidationError with every misfit at its own place, so that a curator sees all of them at once."""
    details = [
        InitErrorDetails(type=PydanticCustomError("misfit", sentence), loc=place, input=None)
        for place, sentence in misfits
    ]
    if details:
        raise ValidationError.from_exception_data(type(definition).__name__, details)


class Words(Definition):
    """A text in Chinese, English or both. A plain string is taken as the language that it is written in."""

    zh: str = ""
    en: str = ""

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        return {language_of(value): value.strip()} if isinstance(value, str) else value

    def said_in(self, language: Language) -> str:
        """The text in `language`, or in the other one where it was not written."""
        return (self.zh or self.en) if language == "zh" else (self.en or self.zh)

    def every(self) -> tuple[str, ...]:
        """The texts that were written, zh first, each once."""
        return tuple(dict.fromkeys(text for text in (self.zh, self.en) if text))


def _known_type(text: str) -> str:
    squeezed = text.replace(" ", "")
    if not _TYPE.fullmatch(squeezed):
        raise ValueError(f"'{text}' is no field type; write for example string, int64, decimal(18,2) or timestamp")
    return squeezed


def _known_zone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError(f"'{name}' is no IANA time zone; write for example Asia/Shanghai")
    return name


FieldType = Annotated[str, AfterValidator(_known_type)]
ZoneName = Annotated[str, AfterValidator(_known_zone)]


class LegalValue(Definition):
    """One value of an enumerated dimension: the stored value, how people call it, and other names for it."""

    value: str | int | bool
    label: Words = Words()
    aliases: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _from_scalar(cls, value: object) -> object:
        return {"value": value} if isinstance(value, str | int) else value

    def names(self) -> tuple[str, ...]:
        return (str(self.value), *self.label.every(), *self.aliases)


class Comparison(Definition):
    """A metric against itself one period earlier, over the same groups.

    previous = the earlier value; change = now - earlier; relative = (now - earlier) / |earlier|.
    Earlier are the rows that fall into the same filters and groups once their time is moved one period on. A day that
    the later month lacks is left out, unless whole months are compared: before February 28 lies January 28 alone,
    before all of February all of January.
    """

    metric: str
    period: Period
    measure: Literal["previous", "change", "relative"] = "relative"


class Share(Definition):
    """A group's part of the metric's total over all groups, or over those that share some dimensions.

    The total is of all groups before a filter on groups or a limit takes any away.
    """

    metric: str
    within: tuple[str, ...] = ()


class Field(Definition):
    """A column of the wide table. A metric has exactly one of aggregation, expression, comparison, share."""

    name: str = Setting(min_length=1, max_length=128)
    role: Role
    type: FieldType
    about: Words = Words()
    column: str | None = Setting(None, description="the stored column, where it is not called like the field")
    unit: str | None = None
    aliases: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    values: tuple[LegalValue, ...] = Setting((), description="the legal values of an enumerated dimension")
    aggregation: Aggregation | None = None
    expression: str | None = Setting(None, description="arithmetic over metrics, such as (revenue - cost) / revenue")
    comparison: Comparison | None = None
    share: Share | None = None

    @model_validator(mode="after")
    def _defined_once(self) -> Self:
        definitions = [self.aggregation, self.expression, self.comparison, self.share]
        given = sum(definition is not None for definition in definitions)
        if self.role == "metric" and given != 1:
            raise ValueError(
                f"metric '{self.name}' has {given} of aggregation, expression, comparison and share; it needs one"
            )
        if self.role == "dimension" and given:
            raise ValueError(
                f"dimension '{self.name}' carries an aggregation, expression, comparison or share; make it a metric"
            )
        return self

    @property
    def stored(self) -> bool:
        """Whether the field is a column of the table rather than computed from others."""
        return self.expression is None and self.comparison is None and self.share is None

    @property
    def masked(self) -> bool:
        """Whether callers get something else than its values."""
        return False

    @property
    def source_column(self) -> str:
        return self.column or self.name

    @property
    def temporal(self) -> bool:
        return self.type in ("date", "timestamp", "timestamptz")

    @property
    def numeric(self) -> bool:
        return self.type.startswith(("int", "uint", "float", "decimal"))

    def operand_names(self) -> tuple[str, ...]:
        """The metrics that this one is computed from, in the order in which they are first named."""
        if self.expression is not None:
            return operands(self.expression)
        derived = self.comparison or self.share
        return (derived.metric,) if derived else ()

    def names(self) -> tuple[str, ...]:
        return (self.name, *self.about.every(), *self.aliases)


class FiscalYear(Definition):
    """Twelve months from the first of `start_month`. Years and quarters as grains, and words for them, follow it."""

    start_month: int = Setting(ge=1, le=12)
    named_after: NamedAfter | None = Setting(
        None, description="which calendar year FY2026 begins or ends in; needed unless it begins in January"
    )

    @model_validator(mode="after")
    def _has_a_name(self) -> Self:
        if self.start_month > 1 and self.named_after is None:
            raise ValueError(
                f"fiscalYear begins in month {self.start_month} but does not say which calendar year it is named after;"
                " write namedAfter: start or namedAfter: end"
            )
        return self

    @property
    def months_late(self) -> int:
        """How many months after January it begins."""
        return self.start_month - 1

    def first_month(self, number: int) -> tuple[int, int]:
        """(calendar year, month) in which the year of that number begins."""
        return number - (self.months_late > 0 and self.named_after == "end"), self.start_month


class Freshness(Definition):
    """How long a result may be reused, when it must be read anew, and from when its data counts as late."""

    reuse_seconds: int = Setting(300, ge=0, description="a repeated query is answered from its snapshot for so long")
    read_through_days: int | None = Setting(
        None, ge=1, description="what reaches into the last so many days (1: today) is read anew each time"
    )
    late_after_hours: float | None = Setting(None, gt=0, description="older data carries the warning STALE_DATA")


class Source(Definition):
    """A place where the dataset's rows are stored. {data} in the url stands for the catalog's data folder."""

    name: str
    url: str
    table: str | None = Setting(None, description="the table; left out where the url names a single file")
    kind: Literal["olap", "rows", "distributed"] = "olap"
    version_column: str | None = Setting(
        None, description="the stored column whose latest value tells the data's version; left out: the store tells it"
    )


class Dataset(Definition):
    """One logical wide table: what a scene's apiNo points to."""

    api_no: str = Setting(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")
    title: Words
    about: Words = Words()
    owner: str | None = None
    synthetic: bool = Setting(False, description="made-up data; said wherever the dataset appears")
    key: tuple[str, ...] = Setting(min_length=1, description="the dimensions that together identify a row")
    time_column: str | None = None
    time_zone: ZoneName = "UTC"
    week_start: WeekStart = "monday"
    fiscal_year: FiscalYear | None = Setting(None, description="left out: no words for fiscal years are understood")
    clock: datetime | None = Setting(None, description="a fixed 'now', for data that does not grow")
    freshness: Freshness = Freshness()
    sources: tuple[Source, ...] = Setting(min_length=1)
    fields: tuple[Field, ...] = Setting(min_length=1)

    @model_validator(mode="after")
    def _names_hold_together(self) -> Self:
        refuse(self, (*self._repeated_names(), *self._misfits()))
        refuse(self, self._circles())
        return self

    def _repeated_names(self) -> Iterator[Misfit]:
        seen: set[str] = set()
        for at, field in enumerate(self.fields):
            if field.name == ROW_COUNT:
                yield ("fields", at, "name"), f"'{ROW_COUNT}' exists in every dataset; give this field another name"
            if field.name in seen:
                yield ("fields", at, "name"), f"field '{field.name}' is defined twice; rename or delete one"
            seen.add(field.name)

    def _misfits(self) -> Iterator[Misfit]:
        dimensions = {field.name for field in self.fields if field.role == "dimension"}
        for at, name in enumerate(self.key):
            if name not in dimensions:
                yield ("key", at), f"key names '{name}', which is no dimension of this dataset; name its dimensions"
        if self.time_column is not None and self.time_column not in dimensions:
            yield ("timeColumn",), f"timeColumn '{self.time_column}' is no dimension of this dataset; name one"
        if self.freshness.read_through_days is not None and self.time_column is None:
            yield ("freshness", "readThroughDays"), "readThroughDays counts by the timeColumn; give the dataset one"
        if self.clock is not None and self.clock.tzinfo is None:
            yield ("clock",), "clock has no offset; write for example 2026-11-30T09:00:00+08:00"
        for at, field in enumerate(self.fields):
            for place, sentence in self._misfits_of(field, dimensions):
                yield ("fields", at, *place), sentence

    def _misfits_of(self, field: Field, dimensions: set[str]) -> Iterator[Misfit]:
        try:
            names = field.operand_names()
        except ExpressionFault as fault:
            yield ("expression",), f"metric '{field.name}': {fault}"
            return
        for name in names:
            operand = self.by_name.get(name)
            if operand is None or operand.role != "metric":
                yield (), f"metric '{field.name}' is computed from '{name}', which is no metric here; name a metric"
            elif operand.comparison is not None or operand.share is not None:
                yield (), f"metric '{field.name}' is computed from a comparison or share; use the one beneath '{name}'"
        if field.comparison is not None and self.time_column is None:
            yield ("comparison",), f"metric '{field.name}' compares periods; give the dataset a timeColumn"
        for name in field.share.within if field.share else ():
            if name not in dimensions:
                yield ("share", "within"), f"metric '{field.name}' is a share within '{name}'; name a dimension"

    def _circles(self) -> Iterator[Misfit]:
        """Each circle once, at the metric by which it is entered first. Every operand is known to exist."""
        finished: set[str] = set()

        def circle_from(name: str, path: tuple[str, ...]) -> tuple[str, ...] | None:
            if name in path:
                return (*path[path.index(name) :], name)
            if name in finished:
                return None
            found = [circle_from(operand, (*path, name)) for operand in self.by_name[name].operand_names()]
            finished.add(name)
            return next(filter(None, found), None)

        for at, field in enumerate(self.fields):
            if circle := circle_from(field.name, ()):
                path = " -> ".join(circle)
                yield ("fields", at), f"metrics are computed from each other in a circle ({path}); let one be stored"

    @cached_property
    def by_name(self) -> Mapping[str, Field]:
        return {field.name: field for field in self.fields}

    def flags_of(self, field: Field) -> tuple[Flag | Literal["masked"], ...]:
        """The field's own and those of every field that it is computed from, each once: a ratio of estimates is one.

        Of a dataset that is seen through masks, `masked` is one of them.
        """
        own = (*field.flags, *(("masked",) if field.masked else ()))
        beneath = (self.flags_of(self.by_name[name]) for name in field.operand_names())
        return tuple(dict.fromkeys((*own, *(flag for flags in beneath for flag in flags))))

    def months_late(self, grain: str) -> int:
        """How many months after the calendar's periods of that grain those of the fiscal year begin."""
        if self.fiscal_year is None or grain not in ("quarter", "year"):
            return 0
        return self.fiscal_year.months_late % (3 if grain == "quarter" else 12)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)
