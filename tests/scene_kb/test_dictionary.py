"""Words in the other language."""

import pytest

from scene_kb.dictionary import dictionary
from scene_kb.text import stem


@pytest.mark.parametrize(
    ("chinese", "english"), [("老师", "teacher"), ("国家", "country"), ("工资", "wage"), ("年龄", "age")]
)
def test_a_word_is_known_both_ways(chinese: str, english: str) -> None:
    assert stem(english) in dictionary().other_words(chinese)
    assert chinese in dictionary().other_words(stem(english))


def test_a_word_that_is_no_entry_has_no_others() -> None:
    assert not dictionary().other_words("qzxv")


def test_words_of_like_meaning_are_found_through_the_other_language() -> None:
    assert max(dictionary().akin(stem("physician")).items(), key=lambda pair: pair[1])[0] == "doctor"
    assert "收入" in dictionary().akin("营收")
    assert dictionary().akin("qwertz") == {}
    assert "汽车" not in dictionary().akin("汽车")
