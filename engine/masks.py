"""Masks: what a caller gets of a field instead of its values, and the dataset as somebody under masks sees it.

A masked field keeps its name and meaning. Its type is that of what is shown, and it has no legal values.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import Field as Setting
from pydantic import model_validator

from engine.dataset import Dataset, Definition, Field

MaskKind = Literal["hash", "partial", "null", "bucket"]
Use = Literal["filters", "groupBy", "orderBy"]

_FROM_NARROW_TO_WIDE: tuple[MaskKind, ...] = ("null", "hash", "partial", "bucket")
_GRAINS = ("hour", "day", "week", "month", "quarter", "year")
_USES: Mapping[MaskKind, frozenset[Use]] = {
    # A filter by a real value would find nothing under any mask, and the empty answer would look complete. Pseudonyms
    # tell equal from unequal and nothing else; only buckets keep an order.
    "null": frozenset(),
    "partial": frozenset(),
    "hash": frozenset({"groupBy"}),
    "bucket": frozenset({"groupBy", "orderBy"}),
}


class Mask(Definition):
    """hash: a pseudonym, equal for equal values. partial: the last characters. null: nothing. bucket: rounded down.

    Written as its kind alone (`hash`, `null`), or with what it needs: `{kind: bucket, width: 100}`.
    """

    kind: MaskKind
    keep: int = Setting(4, ge=1, description="partial: so many last characters are shown, and never more than half")
    width: Annotated[Decimal, Setting(gt=0)] | None = Setting(None, description="bucket of a number: its width")
    grain: Literal["hour", "day", "week", "month", "quarter", "year"] | None = Setting(
        None, description="bucket of a time: cut to its hour, day, week, month, quarter or year"
    )

    @model_validator(mode="before")
    @classmethod
    def _from_kind(cls, value: Any) -> Any:
        if value is None:  # YAML reads a bare null so
            return {"kind": "null"}
        return {"kind": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Self:
        if (self.kind == "bucket") != ((self.width is None) != (self.grain is None)):
            raise ValueError(
                "a bucket, and nothing else, has either a width or a grain; write {kind: bucket, width: 100}"
            )
        return self

    @property
    def uses(self) -> frozenset[Use]:
        """What a query may do with the masked values besides showing and aggregating them."""
        return _USES[self.kind]

    @property
    def openness(self) -> tuple[int, int, Decimal]:
        """Greater where more is shown: by kind, then by how much of it."""
        grain = -_GRAINS.index(self.grain) if self.grain else 0
        fine = Decimal(self.keep) if self.kind == "partial" else -(self.width or Decimal())
        return _FROM_NARROW_TO_WIDE.index(self.kind), grain, fine

    def said(self) -> str:
        """In words, for a curator."""
        match self.kind:
            case "hash":
                return "as pseudonyms"
            case "partial":
                return f"as its last {self.keep} characters"
            case "null":
                return "without its values"
            case "bucket":
                return f"in steps of {self.width:f}" if self.width is not None else f"cut to the {self.grain}"


class MaskedField(Field):
    """A field as it is seen through a mask."""

    mask: Mask
    beneath: Field

    @property
    def masked(self) -> bool:
        return True


def unworkable(mask: Mask, field: Field, dataset: Dataset) -> tuple[str, str] | None:
    """(what is wrong, what to do) where the mask cannot work on the field; None where it can."""
    if not field.stored:
        return (
            f"'{field.name}' is computed, and a mask works on stored values",
            "mask the fields that it is computed from",
        )
    if field.name == dataset.time_column:
        return f"'{field.name}' is the timeColumn, which every query filters by", "deny it, or leave it clear"
    if field.name in dataset.key and mask.kind != "hash":
        return f"'{field.name}' belongs to the key, by which rows are told apart", "write hash, which keeps them apart"
    whole = field.type.startswith(("int", "uint"))
    if mask.kind in ("hash", "partial"):
        if field.role == "metric":
            return f"'{field.name}' is a metric, and a {mask.kind} cannot be aggregated", "write null, or a bucket"
        if field.type != "string" and not whole:
            return f"a {mask.kind} is for texts and whole numbers, and '{field.name}' is {field.type}", "write null"
    if mask.width is not None:
        if not field.numeric:
            return f"a width is for numbers, and '{field.name}' is {field.type}", "write a grain, or another mask"
        if whole and mask.width != mask.width.to_integral_value():
            return f"'{field.name}' is {field.type}, and {mask.width:f} is no whole number", "write a whole number"
    if mask.grain is not None and (not field.temporal or (field.type == "date" and mask.grain == "hour")):
        return f"'{field.name}' is {field.type} and has no {mask.grain}", "write a width, or another mask"
    return None


def seen_through(dataset: Dataset, masks: Mapping[str, Mask]) -> Dataset:
    """The dataset with its masked fields as the caller knows them; itself where none is masked."""
    if not masks:
        return dataset
    fields = tuple(_masked(field, masks[field.name]) if field.name in masks else field for field in dataset.fields)
    # Not by model_copy, which would keep what the dataset remembers of its fields.
    return Dataset.model_construct(**{**_parts(dataset), "fields": fields})


def _masked(field: Field, mask: Mask) -> MaskedField:
    shown = field.type
    if mask.kind in ("hash", "partial"):
        shown = "string"
    elif mask.grain not in (None, "hour"):
        shown = "date"
    return MaskedField.model_construct(**{**_parts(field), "type": shown, "values": (), "mask": mask, "beneath": field})


def _parts(definition: Dataset | Field) -> dict[str, Any]:
    return {name: getattr(definition, name) for name in type(definition).model_fields}
