"""Time expressions against labels made by hand (cases/timespans.jsonl), against traps (cases/timespans_traps.txt), and
against what must hold for every text, moment and zone."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import opencc
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.dataset import FiscalYear, WeekStart
from engine.times.spans import ImpossibleDate, ReversedRange, Span, span_of, spans_in

_CASES = Path(__file__).parent / "cases"
_LABELLED: list[dict[str, Any]] = [json.loads(line) for line in (_CASES / "timespans.jsonl").read_text().splitlines()]
_TRAPS = [
    tuple(line.split(" | "))
    for line in (_CASES / "timespans_traps.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
_SHANGHAI = ZoneInfo("Asia/Shanghai")
_WEDNESDAY = datetime(2026, 11, 18, 14, 20, tzinfo=_SHANGHAI)


def _read(text: str, now: datetime = _WEDNESDAY, zone: ZoneInfo = _SHANGHAI) -> tuple[Span, ...]:
    return spans_in(text, now=now, zone=zone, week_start="monday")


def _whole(text: str, now: datetime = _WEDNESDAY, zone: ZoneInfo = _SHANGHAI) -> Span | None:
    return span_of(text, now=now, zone=zone, week_start="monday")


def _last_day(span: Span) -> str:
    return (span.end - timedelta(microseconds=1)).date().isoformat()


def _shown(span: Span) -> str:
    """As the trap file writes a span."""
    if span.whole_days:
        first, last = span.start.date().isoformat(), _last_day(span)
        text = first if first == last else f"{first}..{last}"
    else:
        ends = (moment.replace(tzinfo=None) for moment in (span.start, span.end))
        text = "..".join(end.isoformat(timespec="seconds" if end.second else "minutes") for end in ends)
    return text + "?" * span.ambiguous


@pytest.mark.parametrize("row", _LABELLED, ids=lambda row: f"{row['text']}@{row['now']}")
def test_a_labelled_expression_is_read_as_labelled(row: dict[str, Any]) -> None:
    now, zone = datetime.fromisoformat(row["now"]), ZoneInfo(row["zone"])
    if row.get("error"):
        with pytest.raises(ImpossibleDate) as caught:
            spans_in(row["text"], now=now, zone=zone, week_start=row["weekStart"])
        assert caught.value.text in row["text"]
        return
    spans = spans_in(row["text"], now=now, zone=zone, week_start=row["weekStart"])
    if row.get("exclusive"):
        read = [{"from": span.start.isoformat(), "to": span.end.isoformat()} for span in spans]
    else:
        read = [{"from": span.start.date().isoformat(), "to": _last_day(span)} for span in spans]
    assert read == row["spans"]
    assert all(span.whole_days is not row.get("exclusive", False) for span in spans)
    assert any(span.ambiguous for span in spans) is row.get("ambiguous", False)


@pytest.mark.parametrize(("text", "expected"), _TRAPS)
def test_a_misleading_sentence_is_read_as_meant(text: str, expected: str) -> None:
    try:
        read = "; ".join(_shown(span) for span in _read(text)) or "-"
    except ImpossibleDate as impossible:
        read = f"{'!<' if isinstance(impossible, ReversedRange) else '!'} {impossible.text}"
    assert read == expected


_NO_CALENDAR_WORD = re.compile(r"财|fiscal|financial|fy", re.IGNORECASE)


def _fiscal_cases() -> Iterator[tuple[FiscalYear, str, str]]:
    fiscal_year = None
    for line in (_CASES / "timespans_fiscal.txt").read_text().splitlines():
        if line.startswith("= "):
            month, named = line.removeprefix("= ").split()
            fiscal_year = FiscalYear.model_validate({"startMonth": int(month), "namedAfter": named.strip("-") or None})
        elif line and not line.startswith("#"):
            assert fiscal_year is not None
            text, expected = line.split(" | ")
            yield fiscal_year, text, expected


_FISCAL = list(_fiscal_cases())


@pytest.mark.parametrize(("fiscal_year", "text", "expected"), _FISCAL)
def test_fiscal_years_are_read_by_the_datasets_own(fiscal_year: FiscalYear, text: str, expected: str) -> None:
    spans = spans_in(text, now=_WEDNESDAY, zone=_SHANGHAI, week_start="monday", fiscal_year=fiscal_year)
    assert ("; ".join(map(_shown, spans)) or "-") == expected


@pytest.mark.parametrize("text", sorted({text for _, text, _ in _FISCAL if _NO_CALENDAR_WORD.search(text)}))
def test_without_a_fiscal_year_no_word_for_one_is_guessed(text: str) -> None:
    """Nor is the Q2 in it taken for the calendar's."""
    assert _read(text) == ()


_RANGES = {
    "zh": (
        *("11月1日到5日", "11月1日至5日", "11月1-5日", "11月1号到5号", "10月1日到11月5日", "上月5日到8日", "1-3月"),
        *("一季度到三季度", "上周一到上周三", "2026-11-01到2026-11-05", "11/1-11/5", "2026.11.1-11.5", "2024-2025年"),
        *("昨天9点到11点", "昨天9:00到11:30", "11月1日9点到5日18点", "月初到昨天", "10月底到11月初", "上周", "11月5日"),
    ),
    "en": (
        *("Nov 1 to 5", "Nov 1-5", "from Nov 1 to Nov 5", "between Nov 1 and 5", "1-5 Nov", "Jan-Mar", "Q1-Q3"),
        *("from the 1st to the 5th", "the 5th to the 8th of last month", "2026-11-01 to 11-05", "11/1-11/5"),
        *("yesterday from 9am to 11am", "the last week of October", "first 3 days of October", "from 2024 to 2025"),
    ),
}
_BEHIND = {
    "zh": (
        *("的消耗", "各渠道消耗", "渠道消耗", "消耗", "每天各渠道消耗", "所有渠道", "点击", "数据", "花费", "，各渠道"),
        *("期间消耗", "一共花了多少", "哪些渠道", "ROI", "广告消耗", "开播场次", "人均消费", "分渠道消耗"),
    ),
    "en": (
        *(" by day", " by channel", " spend by channel", ", per channel", ": spend", " channel A spend", "?"),
        *(" top 10 channels", " in total", " for each carrier", " across channels", " delays"),
    ),
}


@pytest.mark.parametrize(("lang", "text"), [(lang, text) for lang, texts in _RANGES.items() for text in texts])
def test_what_follows_a_time_expression_does_not_decide_whether_it_is_read(lang: str, text: str) -> None:
    alone = [_shown(span) for span in _read(text)]
    assert len(alone) == 1
    read = {behind: [_shown(span) for span in _read(text + behind)] for behind in _BEHIND[lang]}
    assert read == dict.fromkeys(_BEHIND[lang], alone)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("昨天", "2026-11-17", "2026-11-17"),
        (" 2026-11 ", "2026-11-01", "2026-11-30"),
        ("last 7 days", "2026-11-11", "2026-11-17"),
        ("11月1日到5日", "2026-11-01", "2026-11-05"),
        ("in 2025", "2025-01-01", "2025-12-31"),
        ("2025年期间", "2025-01-01", "2025-12-31"),
        ("2026-11-01/2026-11-05", "2026-11-01", "2026-11-05"),
        ("9999-12-31", "9999-12-31", "9999-12-31"),
        ("1969-12-31", "1969-12-31", "1969-12-31"),
    ],
)
def test_a_value_that_is_one_time_expression_is_a_span(text: str, first: str, last: str) -> None:
    span = _whole(text)
    assert span is not None
    assert (span.start.date().isoformat(), _last_day(span), span.whole_days) == (first, last, True)


@pytest.mark.parametrize(
    "text", ["", "渠道A", "昨天的消耗", "昨天和前天", "11", "TOP10", "10:00", "before Nov 5", "前一天"]
)
def test_a_value_that_is_anything_else_is_none(text: str) -> None:
    assert _whole(text) is None


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026-11-01T09:00:00+08:00", "2026-11-01T09:00:00+08:00", "2026-11-01T09:00:01+08:00"),
        ("2026-11-01T09:00Z", "2026-11-01T17:00:00+08:00", "2026-11-01T17:01:00+08:00"),
        ("2026-11-01 09:00:00-0330", "2026-11-01T20:30:00+08:00", "2026-11-01T20:30:01+08:00"),
        ("2026-11-01T09:00:00.125+08:00", "2026-11-01T09:00:00.125000+08:00", "2026-11-01T09:00:00.126000+08:00"),
        ("2026-11-01 09:00", "2026-11-01T09:00:00+08:00", "2026-11-01T09:01:00+08:00"),
        ("昨天3点", "2026-11-17T03:00:00+08:00", "2026-11-17T04:00:00+08:00"),
    ],
)
def test_a_point_in_time_is_as_wide_as_its_last_written_digit(text: str, start: str, end: str) -> None:
    span = _whole(text)
    assert span is not None
    assert (span.start.isoformat(), span.end.isoformat()) == (start, end)


@pytest.mark.parametrize(
    "text",
    ["2026-11-01 15:00 到 2026-11-01 16:59", "2026-11-01 15:00:00 ~ 2026-11-01 16:59:59", "11月1日15:00-17:00"],
)
def test_the_last_minute_of_an_hour_closes_it(text: str) -> None:
    span = _whole(text)
    assert span is not None
    assert span.end.isoformat() == "2026-11-01T17:00:00+08:00"


def test_text_and_place_refer_to_the_input_however_it_is_written() -> None:
    sentence = "請看　ＡＢ渠道上個月，和１１月１日到５日的花費"
    assert [(span.text, span.at) for span in _read(sentence)] == [("上個月", 7), ("１１月１日到５日", 12)]
    assert all(sentence[span.at :].startswith(span.text) for span in _read(sentence))


def test_the_words_that_make_a_span_run_on_belong_to_it() -> None:
    assert [span.text for span in _read("自11月1日以来的消耗")] == ["自11月1日以来"]
    assert [span.text for span in _read("spend since Monday")] == ["since Monday"]
    assert [span.text for span in _read("orders from Nov 2 to Nov 6")] == ["from Nov 2 to Nov 6"]


def test_the_words_to_blame_for_an_impossible_date_are_named() -> None:
    with pytest.raises(ImpossibleDate) as caught:
        _read("看下６月３１號的消耗")
    assert caught.value.text == "６月３１號"


def test_a_day_that_a_zone_skipped_is_impossible() -> None:
    apia = ZoneInfo("Pacific/Apia")  # went from the 29th to the 31st of December 2011, across the date line
    with pytest.raises(ImpossibleDate):
        _read("2011-12-30", now=datetime(2012, 1, 5, tzinfo=UTC), zone=apia)


def test_the_last_hours_of_the_calendar_can_be_named() -> None:
    span = _whole("9999-12-31 22:00", zone=ZoneInfo("America/New_York"))
    assert span is not None
    assert (span.start.isoformat(), span.end.isoformat()) == ("9999-12-31T22:00:00-05:00", "9999-12-31T22:01:00-05:00")


def test_an_hour_that_clocks_skipped_is_impossible() -> None:
    with pytest.raises(ImpossibleDate):
        _read("today 2am-3am", now=datetime(2026, 3, 8, 12, tzinfo=UTC), zone=ZoneInfo("America/New_York"))


def test_a_day_whose_midnight_was_skipped_begins_when_clocks_jumped() -> None:
    span = _whole("2024-04-26", zone=ZoneInfo("Africa/Cairo"))  # clocks went from 00:00 to 01:00
    assert span is not None
    assert span.start.isoformat() == "2024-04-26T01:00:00+03:00"
    assert span.whole_days


def test_today_follows_the_zone_and_not_the_offset_of_now() -> None:
    now = datetime(2026, 11, 17, 16, 30, tzinfo=UTC)  # 00:30 of the 18th in Shanghai
    assert [_shown(span) for span in _read("今天", now=now)] == ["2026-11-18"]
    assert [_shown(span) for span in _read("today", now=now, zone=ZoneInfo("America/New_York"))] == ["2026-11-17"]


# ------------------------------------------------------------------------------------------- what holds for everything

_moments = st.datetimes(datetime(1995, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))
_zones = st.sampled_from(
    [
        *("UTC", "Asia/Shanghai", "Asia/Kolkata", "America/New_York", "Europe/Berlin"),
        *("Australia/Lord_Howe", "Africa/Cairo", "America/Sao_Paulo", "Pacific/Apia"),
    ]
).map(ZoneInfo)
_week_starts: st.SearchStrategy[WeekStart] = st.sampled_from(["monday", "sunday"])
_sentences = st.sampled_from(sorted({str(row["text"]) for row in _LABELLED} | {trap[0] for trap in _TRAPS}))
_scraps = st.text(
    st.sampled_from("昨今前上下本近周月日号年季点到至和的天第三十一1230-/:., abcpmqtodlastjun"), max_size=24
)


def _possible(text: str, now: datetime, zone: ZoneInfo, week_start: WeekStart) -> tuple[Span, ...]:
    try:
        return spans_in(text, now=now, zone=zone, week_start=week_start)
    except ImpossibleDate:
        return ()


@given(_sentences, _moments, _zones, _week_starts)
def test_spans_are_not_empty_in_their_zone_and_apart(
    text: str, now: datetime, zone: ZoneInfo, week_start: WeekStart
) -> None:
    end_of_last = 0
    for span in _possible(text, now, zone, week_start):
        assert span.start.timestamp() < span.end.timestamp()
        assert span.start.tzinfo is zone
        assert span.end.tzinfo is zone
        assert span.at >= end_of_last
        assert text[span.at : span.at + len(span.text)] == span.text
        end_of_last = span.at + len(span.text)


@given(_sentences, _moments, _week_starts)
def test_whole_days_run_from_midnight_to_midnight(text: str, now: datetime, week_start: WeekStart) -> None:
    for span in _possible(text, now, _SHANGHAI, week_start):
        if span.whole_days and span.end.year < 9999:
            assert (span.start.time(), span.end.time()) == (time(), time())


@given(_sentences, _moments, _zones, _week_starts)
def test_a_span_written_as_iso_is_read_back_as_itself(
    text: str, now: datetime, zone: ZoneInfo, week_start: WeekStart
) -> None:
    for span in _possible(text, now, zone, week_start):
        if span.whole_days:
            written = f"{span.start.date().isoformat()}/{_last_day(span)}"
        else:
            assume((span.end.minute, span.end.second) != (59, 59))  # as the end of a range it would close the hour
            written = f"{span.start.isoformat()}/{span.end.isoformat()}"
        again = span_of(written, now=now, zone=zone, week_start=week_start)
        assert again is not None
        assert (again.start, again.end) == (span.start, span.end)
        assert (again.start.utcoffset(), again.end.utcoffset()) == (span.start.utcoffset(), span.end.utcoffset())
        assert (again.whole_days, again.ambiguous) == (span.whole_days, False)


_to_traditional = opencc.OpenCC("s2t")
_to_full_width = {code: code + 0xFEE0 for code in range(0x21, 0x7F)} | {0x20: 0x3000}


@given(_sentences, _moments, _zones, _week_starts)
def test_width_script_and_case_do_not_change_the_meaning(
    text: str, now: datetime, zone: ZoneInfo, week_start: WeekStart
) -> None:
    def meaning(variant: str) -> list[tuple[datetime, datetime, bool, bool, int]] | str:
        try:
            spans = spans_in(variant, now=now, zone=zone, week_start=week_start)
        except ImpossibleDate:
            return "impossible"
        return [(span.start, span.end, span.whole_days, span.ambiguous, span.at) for span in spans]

    plain = meaning(text)
    assert meaning(text.translate(_to_full_width)) == plain
    assert meaning(text.upper()) == plain
    assert meaning("".join(_to_traditional.convert(character) for character in text)) == plain


@given(st.one_of(_scraps, st.text(max_size=30)), _moments, _zones)
def test_no_text_breaks_the_reader(text: str, now: datetime, zone: ZoneInfo) -> None:
    _possible(text, now, zone, "monday")
