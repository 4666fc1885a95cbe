from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.numerals import number_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("+5", 5),
        ("1,234.50", Decimal("1234.5")),
        ("-4.5e3", -4500),
        ("1.20e-5", Decimal("0.000012")),
        (".5", Decimal("0.5")),
        ("１２３", 123),
        ("−5", -5),
        ("9007199254740993", 9007199254740993),
        (
            "99999999999999999999999999999999999999.1234567891",
            Decimal("99999999999999999999999999999999999999.1234567891"),
        ),
    ],
)
def test_arabic_numbers_keep_every_digit(text: str, value: int | Decimal) -> None:
    assert number_of(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12k", 12_000),
        ("1.5M", 1_500_000),
        ("2bn", 2_000_000_000),
        ("5w", 50_000),
        ("3 million", 3_000_000),
        ("1.2万", 12_000),
        ("1.2 万", 12_000),
        ("3亿", 300_000_000),
        ("3億5千萬", 350_000_000),
        ("5千万", 50_000_000),
        ("5%", Decimal("0.05")),
        ("５％", Decimal("0.05")),
        ("100%", 1),
        ("3‰", Decimal("0.003")),
        ("百分之五", Decimal("0.05")),
        ("千分之1.5", Decimal("0.0015")),
    ],
)
def test_units_multiply_exactly(text: str, value: int | Decimal) -> None:
    assert number_of(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("零", 0),
        ("十", 10),
        ("十二", 12),
        ("三百二十", 320),
        ("三百二", 320),
        ("一百零五", 105),
        ("两千五", 2500),
        ("三千零五十", 3050),
        ("一万二", 12_000),
        ("一万零二", 10_002),
        ("两千五百万", 25_000_000),
        ("一万亿", 1_000_000_000_000),
        ("二〇二六", 2026),
        ("二零二六", 2026),
        ("壹佰贰拾", 120),
        ("兩萬", 20_000),
        ("负三百", -300),
        ("三点五", Decimal("3.5")),
        ("一点二万", 12_000),
        ("twelve", 12),
        ("twenty-five", 25),
        ("two hundred", 200),
    ],
)
def test_words_are_numbers_too(text: str, value: int | Decimal) -> None:
    assert number_of(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "-", "--5", "1.", "1,23", "12,34,567", "1 000", "1/2", "½", "10²", "NaN", "inf", "0x10"),
        *("12d", "12kk", "1千2百万", "1e999", "9" * 100, "twelve five", "渠道3", "TOP10"),
        *("百", "万", "亿五", "点五", "三点", "十百", "二百三百"),
    ],
)
def test_what_is_no_number_is_none(text: str) -> None:
    assert number_of(text) is None


def test_equal_values_are_equal_texts() -> None:
    assert {repr(number_of(text)) for text in ("12000", "12,000.0", "1.2万", "12k", "1.2e4", "一万二")} == {"12000"}
    assert {repr(number_of(text)) for text in ("0.5", "0.50", "50%", ".5")} == {"Decimal('0.5')"}


@given(st.decimals(allow_nan=False, allow_infinity=False, places=10, min_value=-(10**28), max_value=10**28))
def test_a_written_decimal_is_read_back_exactly(value: Decimal) -> None:
    assert number_of(f"{value:f}") == value


def _in_han(number: int) -> str:
    """The everyday Chinese way to write 0 to 9999; the test's own, from the other direction."""
    if number < 10:
        return "零一二三四五六七八九"[number]
    for unit, name in ((1000, "千"), (100, "百"), (10, "十")):
        if number >= unit:
            rest = number % unit
            gap = "零" if rest and rest < unit // 10 else ""
            return _in_han(number // unit) + name + (gap + _in_han(rest) if rest else "")
    raise AssertionError(number)


def test_every_chinese_number_below_ten_thousand_is_read() -> None:
    assert [number for number in range(10_000) if number_of(_in_han(number)) != number] == []


@given(st.text(max_size=40))
def test_no_text_breaks_the_reader(text: str) -> None:
    number_of(text)
