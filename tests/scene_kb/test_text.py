"""Folding and tokens, in both languages."""

import subprocess
import sys

import pytest

from engine.folding import fold
from scene_kb.text import tokens


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("ＴＯＰ１０", "top10"),
        ("廣告", "广告"),
        ("  Ad   Clicks ", "ad clicks"),
        ("ﬁeld", "field"),
        ("", ""),
        ("😀", "😀"),
    ],
)
def test_width_case_and_traditional_characters_do_not_count(said: str, means: str) -> None:
    assert fold(said) == means


def test_english_words_are_stemmed_and_framing_words_left_out() -> None:
    assert tokens("How many students are advised by each rank?") == ("student", "advis", "rank")


def test_a_text_of_framing_words_alone_keeps_them() -> None:
    assert tokens("how many") != ()


@pytest.mark.parametrize("identifier", ["adClickRate", "ad_click_rate", "AdClickRate", "AD_CLICK_RATE"])
def test_identifiers_are_cut_at_case_and_underscore(identifier: str) -> None:
    assert tokens(identifier) == ("ad", "click", "rate")


def test_identifiers_are_cut_at_digits() -> None:
    assert tokens("revenue7d") == ("revenu", "7", "d")


def test_chinese_gives_words_and_the_pairs_that_are_no_words() -> None:
    found = tokens("渠道广告消耗")
    assert {"渠道", "广告", "消耗"} <= set(found)
    assert ":道广" in found
    assert ":渠道" not in found


def test_traditional_and_simplified_give_the_same_tokens() -> None:
    assert tokens("廣告消耗異常") == tokens("广告消耗异常")


def test_the_word_list_loads_without_a_word_on_stdout_or_stderr() -> None:
    code = "from scene_kb.text import tokens; tokens('渠道消耗')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
