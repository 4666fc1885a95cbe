"""Masks as SQL trees: what stands in every place where a masked column would be read."""

from sqlglot import exp

from engine.masks import MaskedField
from engine.query import MASK_KEY

_PSEUDONYM_CHARACTERS = 16
_HIDDEN_PART = "***"  # of one length, whatever is hidden


def masked_value(value: exp.Expr, field: MaskedField) -> exp.Expr:
    """`value` under every mask but a bucket of a time. An absent value stays absent."""
    text = exp.cast(value, exp.DataType.Type.TEXT)
    match field.mask.kind:
        case "hash":
            # With a secret: a phone number is found by trying them all.
            keyed = exp.DPipe(this=exp.Placeholder(this=MASK_KEY), expression=text)
            digest = exp.func("SHA256", keyed, dialect="duckdb")
            return exp.func("LEFT", digest, exp.Literal.number(_PSEUDONYM_CHARACTERS))
        case "partial":
            half = exp.IntDiv(this=exp.Length(this=text), expression=exp.Literal.number(2))
            kept = exp.func("RIGHT", text.copy(), exp.func("LEAST", exp.Literal.number(field.mask.keep), half))
            return exp.paren(exp.DPipe(this=exp.Literal.string(_HIDDEN_PART), expression=kept))
        case "null":
            return exp.Case().when(exp.false(), value)  # nothing, in the column's own type
        case "bucket":
            return _rounded_down(value, field)


def _rounded_down(value: exp.Expr, field: MaskedField) -> exp.Expr:
    """To a multiple of the width, also below zero; exact for whole numbers and decimals."""
    if field.type.startswith(("int", "uint")):
        value = exp.cast(value, exp.DataType.build("DECIMAL(38, 0)"))  # below the least of its own type, too
    width = exp.Literal.number(f"{field.mask.width:f}")
    above = exp.Mod(this=value.copy(), expression=width)
    never_below = exp.Mod(
        this=exp.paren(exp.Add(this=exp.paren(above), expression=width.copy())), expression=width.copy()
    )
    return exp.paren(exp.Sub(this=value, expression=exp.paren(never_below)))
