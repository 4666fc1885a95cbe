"""Numbers as people write them, Arabic, Chinese or English, to exact values: 1.2万, 3亿, 12k, ５％, 三百二十, two.

Nothing here passes through a binary float.
"""

import re
import unicodedata
from collections.abc import Mapping
from decimal import Context, Decimal
from math import prod
from typing import Final

HAN_NUMBER: Final = "零〇一二三四五六七八九十百千万两"
"""The characters of everyday Chinese numbers, for use in a regular expression's class."""

ENGLISH_NUMBERS: Final[Mapping[str, int]] = {
    **{"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9},
    **{"ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16},
    **{"seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50},
    **{"sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90},
}

# Variants that bookkeeping and traditional writing use, to the everyday character of the same value.
_PLAIN: Final = str.maketrans(
    "〇两兩萬億壹贰貳叁參肆伍陆陸柒捌玖拾佰仟負−",
    "零二二万亿一二二三三四五六六七八九十百千负-",
)
_DIGITS: Final[Mapping[str, int]] = {character: value for value, character in enumerate("零一二三四五六七八九")}
_WORTH: Final[Mapping[str, int]] = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8}

# w is how Chinese operations write 万. m is million: no report counts in thousandths.
_SUFFIXES: Final[Mapping[str, Decimal]] = {
    **{"k": Decimal(10**3), "w": Decimal(10**4), "m": Decimal(10**6), "b": Decimal(10**9), "bn": Decimal(10**9)},
    **{"hundred": Decimal(100), "thousand": Decimal(10**3), "million": Decimal(10**6), "billion": Decimal(10**9)},
    **{"%": Decimal("0.01"), "percent": Decimal("0.01"), "‰": Decimal("0.001")},
}
_SHARES: Final[Mapping[str, Decimal]] = {"百分之": Decimal("0.01"), "千分之": Decimal("0.001")}

_ONE_TO_NINE = "[一二三四五六七八九]"  # spelled out: the characters are no range of code points
_DIGIT = "[零一二三四五六七八九]"
_AMOUNT = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_ARABIC = re.compile(rf"(?P<amount>{_AMOUNT}|\.\d+)(?P<exponent>e[+-]?\d{{1,2}})?\s*(?P<suffix>[a-z]+|[%‰])?", re.ASCII)
_MIXED = re.compile(rf"({_AMOUNT})\s*([十百千万亿]+)", re.ASCII)
_HAN_DECIMAL = re.compile(rf"(?P<whole>[零一二三四五六七八九十百千]+)点(?P<places>{_DIGIT}+)(?P<units>[万亿]*)")
# Four places below 万: 三千, 三千零五十, 三百二 (its last digit counts one place below the one before it), 十二.
_SECTION = re.compile(
    rf"(?:(?P<q>{_ONE_TO_NINE})千)?(?:零?(?P<h>{_ONE_TO_NINE})百)?(?:零?(?P<t>{_ONE_TO_NINE}?)十)?"
    rf"(?:(?P<gap>零)?(?P<u>{_ONE_TO_NINE}))?"
)
_ENGLISH = re.compile(
    rf"(?P<first>{'|'.join(ENGLISH_NUMBERS)})(?:[- ](?P<second>{'|'.join(list(ENGLISH_NUMBERS)[1:10])}))?"
    r"(?:\s+(?P<suffix>hundred|thousand|million|billion))?"
)

_LONGEST = 80  # characters; the widest column holds 38 digits, and a longer text only costs time
_EXACT = Context(prec=4 * _LONGEST)  # more digits than any product of such texts has


def number_of(text: str) -> int | Decimal | None:
    """The exact value of a text that is one number and nothing else; None where it is not.

    An int where the value is whole, else a Decimal without trailing zeros, so that equal values are equal texts too.
    """
    plain = unicodedata.normalize("NFKC", text).strip().lower().translate(_PLAIN)
    # Folding 10² would make it 102: raised, circled and fraction signs are no digits here.
    if not plain or len(plain) > _LONGEST or any(unicodedata.category(character) == "No" for character in text):
        return None
    sign = -1 if plain[0] in "-负" else 1
    value = _unsigned(plain[1:] if plain[0] in "+-负" else plain)
    return None if value is None else _canonical(_EXACT.multiply(value, Decimal(sign)))


def _unsigned(text: str) -> Decimal | None:
    for prefix, share in _SHARES.items():
        if text.startswith(prefix):
            part = _unsigned(text.removeprefix(prefix))
            return None if part is None else _EXACT.multiply(part, share)
    for read in (_arabic, _mixed, _han_decimal, _han, _english):
        value = read(text)
        if value is not None:
            return value
    return None


def _arabic(text: str) -> Decimal | None:
    """1,234.50 · -4.5e3 · 12k · 5%."""
    match = _ARABIC.fullmatch(text)
    if match is None:
        return None
    value = Decimal(match["amount"].replace(",", "") + (match["exponent"] or ""))
    suffix = match["suffix"]
    if suffix is None:
        return value
    return _EXACT.multiply(value, _SUFFIXES[suffix]) if suffix in _SUFFIXES else None


def _mixed(text: str) -> Decimal | None:
    """1.2万 · 5千万 · 3亿5千万: each part smaller than the one before."""
    total, end, bound = Decimal(0), 0, None
    for match in _MIXED.finditer(text):
        value = _EXACT.multiply(Decimal(match[1].replace(",", "")), _units(match[2]))
        if match.start() != end or (bound is not None and value >= bound):
            return None
        total, end, bound = _EXACT.add(total, value), match.end(), _units(match[2])
    return total if end and end == len(text) else None


def _han_decimal(text: str) -> Decimal | None:
    """三点五 · 一点二万."""
    match = _HAN_DECIMAL.fullmatch(text)
    whole = None if match is None else _han(match["whole"])
    if match is None or whole is None:
        return None
    places = "".join(str(_DIGITS[character]) for character in match["places"])
    return _EXACT.multiply(Decimal(f"{whole}.{places}"), _units(match["units"]))


def _han(text: str) -> Decimal | None:
    """二〇二六 digit by digit; 三百二十, 一万二, 两千五百万 by place."""
    if text and all(character in _DIGITS for character in text):
        return Decimal("".join(str(_DIGITS[character]) for character in text))
    value = _by_place(text)
    return None if value is None else Decimal(value)


def _by_place(text: str) -> int | None:
    for unit in "亿万":
        head, found, tail = text.rpartition(unit)
        if found:
            high, low = _by_place(head), _below(tail, _WORTH[unit])
            return None if high is None or low is None else high * _WORTH[unit] + low
    match = _SECTION.fullmatch(text)
    if match is None or not text:
        return None
    thousands, hundreds, ones = (_DIGITS.get(match[name] or "", 0) for name in ("q", "h", "u"))
    tens = 0 if match["t"] is None else _DIGITS.get(match["t"], 1)
    if ones and not match["gap"] and match["t"] is None and (hundreds or thousands):
        ones *= 10 if hundreds else 100
    return thousands * 1000 + hundreds * 100 + tens * 10 + ones


def _below(text: str, unit: int) -> int | None:
    """What follows 万 or 亿: nothing, one digit that counts a place below (一万二), or a smaller number."""
    if len(text) <= 1:
        return _DIGITS[text] * unit // 10 if text in _DIGITS else (0 if not text else None)
    value = _by_place(text.removeprefix("零"))
    return value if value is not None and value < unit else None


def _english(text: str) -> Decimal | None:
    """five · twenty-five · two million."""
    match = _ENGLISH.fullmatch(text)
    if match is None:
        return None
    value, ones = ENGLISH_NUMBERS[match["first"]], match["second"]
    if ones is not None:
        if value < 20:
            return None
        value += ENGLISH_NUMBERS[ones]
    return _EXACT.multiply(Decimal(value), _SUFFIXES[match["suffix"]] if match["suffix"] else Decimal(1))


def _units(characters: str) -> Decimal:
    return Decimal(prod(_WORTH[character] for character in characters))


def _canonical(value: Decimal) -> int | Decimal:
    return int(value) if value == value.to_integral_value() else value.normalize(_EXACT)
