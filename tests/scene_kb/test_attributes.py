"""A word that asks for an attribute without naming it counts for what the attribute is called, in either language."""

import pytest

from scene_kb.attributes import attributes
from scene_kb.meaning import Meanings
from scene_kb.text import stem


@pytest.mark.parametrize(
    ("word", "named"), [("tallest", "height"), ("woman", "sex"), ("located", "city"), ("男", "性别"), ("住", "地址")]
)
def test_the_word_means_a_field_that_is_called_by_the_attribute(word: str, named: str) -> None:
    meanings = Meanings({stem(named): 0, "other": 1})
    [like] = meanings.of(stem(word))
    assert like.token == 0
    assert 0 < like.degree < 1


def test_a_word_that_the_catalog_uses_itself_counts_in_full_and_for_the_attribute_less() -> None:
    own, attribute = Meanings({"oldest": 0, "age": 1}).of("oldest")
    assert (own.token, own.degree) == (0, 1)
    assert (attribute.token, attribute.degree < own.degree) == (1, True)


def test_no_word_stands_for_itself() -> None:
    assert all(word not in named for word, named in attributes().items())
