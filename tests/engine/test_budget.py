"""A page holds what fits into rows, bytes and tokens, and is never empty for size."""

import json
import random
from datetime import date, timedelta

import bpe_openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.budget import cut_page, token_estimate
from engine.dataset import Field
from engine.query import Column, Page, PageBounds

O200K = bpe_openai.get_encoding("o200k_base")
WIDE = PageBounds(rows=1_000, bytes=1 << 30, tokens=1 << 30)

cells = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=200) | st.floats(0, 1e6)


def columns(count: int) -> list[Column]:
    """Of a type in which any value may stand, and be cut."""
    return [Column(f"c{index}", Field(name=f"c{index}", role="dimension", type="json")) for index in range(count)]


def page_of(rows: list[tuple[object, ...]], bounds: PageBounds, *, offset: int = 0, total: int | None = None) -> Page:
    width = len(rows[0]) if rows else 0
    return cut_page(rows, columns(width), offset=offset, total=total or len(rows), bounds=bounds)


def text_of(page: Page) -> str:
    return json.dumps(page.rows, ensure_ascii=False, separators=(",", ":"))


def test_a_page_ends_at_its_rows_and_says_where_the_next_begins() -> None:
    page = page_of([(index,) for index in range(10)], PageBounds(rows=4), offset=20, total=40)
    assert (len(page.rows), page.next_offset) == (4, 24)


def test_a_page_ends_where_its_tokens_are_spent() -> None:
    page = page_of([(index, index) for index in range(1_000)], PageBounds(rows=1_000, tokens=200))
    assert 20 < len(page.rows) < 100
    assert len(O200K.encode(text_of(page))) <= 220


def test_a_page_ends_where_its_bytes_are_spent() -> None:
    page = page_of([("x" * 8,)] * 1_000, PageBounds(rows=1_000, bytes=1_000))
    assert len(page.rows) == 76
    assert len(text_of(page)) == 989


def test_the_last_page_has_no_next() -> None:
    assert page_of([(1,), (2,)], WIDE, offset=8, total=10).next_offset is None


@given(
    st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=30),
    st.builds(PageBounds, rows=st.integers(1, 40), bytes=st.integers(200, 4_000), tokens=st.integers(100, 2_000)),
)
def test_a_page_stays_within_all_three_bounds_and_takes_what_fits(
    rows: list[tuple[object, ...]], bounds: PageBounds
) -> None:
    page = page_of(rows, bounds)
    assert 1 <= len(page.rows) <= bounds.rows
    assert len(text_of(page).encode()) <= bounds.bytes
    assert token_estimate(text_of(page)) <= bounds.tokens + len(page.rows)  # each row is rounded on its own
    assert (page.next_offset is None) == (len(page.rows) == len(rows))
    if page.notes:
        assert len(page.rows) == 1
    elif len(page.rows) < min(len(rows), bounds.rows):
        more = text_of(page_of(rows[: len(page.rows) + 1], WIDE))
        assert len(more.encode()) > bounds.bytes or token_estimate(more) + len(rows) > bounds.tokens


def test_a_huge_row_is_cut_at_its_long_cells_alone() -> None:
    """299 short cells leave the long one its place: it is not cut to a three hundredth of the page."""
    row = (*("a" for _ in range(299)), "x" * 2_000_000)
    page = page_of([row, row], PageBounds())
    (cut,) = page.rows
    assert cut[:299] == row[:299]
    assert 5_000 < len(str(cut[-1])) < 64 << 10
    assert str(cut[-1]).endswith("…")
    assert [(note.code, note.field, note.received) for note in page.notes] == [("CELL_TRUNCATED", "c299", 2_000_000)]
    assert page.next_offset == 1


@pytest.mark.parametrize("filling", ["\x01", '"', "\\", "🎉", "漢", "é"])
def test_a_cut_cell_fits_whatever_it_is_filled_with(filling: str) -> None:
    page = page_of([(filling * 500_000, None, 3)], PageBounds())
    assert len(text_of(page).encode()) <= 64 << 10
    assert page.rows[0][1:] == (None, 3)
    assert len(str(page.rows[0][0])) > 1_000


def test_a_row_of_3000_columns_is_no_empty_page() -> None:
    page = page_of([tuple(f"value number {index}" for index in range(3_000))], PageBounds())
    assert len(page.rows) == 1
    assert len(page.rows[0]) == 3_000


def test_a_structure_that_is_cut_becomes_text() -> None:
    page = page_of([({"a": list(range(20_000))},)], PageBounds())
    assert str(page.rows[0][0]).startswith('{"a":[0,1,2')


@pytest.mark.parametrize("seed", range(20))
def test_tokens_are_estimated_within_a_tenth_below_and_a_half_above(seed: int) -> None:
    """On pages as they come: ids, decimals, dates, names in Chinese and English, small numbers, nulls."""
    rng = random.Random(seed)
    names = "广告消耗异常排查渠道项目素材点击率转化成本新品大促夏季运动户外女装男鞋品牌曝光视频信息流搜索"
    words = [
        "summer",
        "sale",
        "video",
        "feed",
        "search",
        "brand",
        "sports",
        "outdoor",
        "retarget",
        "spring",
        "promo",
        "install",
        "trial",
    ]
    rows = [
        (
            str(rng.randrange(10**17, 10**18)),
            f"ad_{rng.randrange(10**5)}",
            "".join(rng.choices(names, k=rng.randrange(2, 12))),
            " ".join(rng.choices(words, k=rng.randrange(1, 5))),
            f"{rng.random() * 10 ** rng.randrange(7):.2f}",
            (date(2026, 1, 1) + timedelta(days=rng.randrange(365))).isoformat(),
            rng.randrange(1000),
            rng.choice((None, True, round(rng.random(), 4))),
        )
        for _ in range(50)
    ]
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    assert 0.9 <= token_estimate(text) / len(O200K.encode(text)) <= 1.5
