"""A cursor is a signed handle: whole or worthless, and worthless to anybody else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.cursors import Binding, Cursors, Position
from engine.errors import CursorInvalid

BINDING = Binding(owner="ada:s1", arguments="digest", grant="grant")
POSITION = Position("0123456789abcdef", 50)
CURSORS = Cursors(["new key", "old key"])  # newest first, as the setting has them
CURSOR = CURSORS.write(POSITION, BINDING)


def reason_of(cursor: str, binding: Binding = BINDING, cursors: Cursors = CURSORS) -> str:
    with pytest.raises(CursorInvalid) as caught:
        cursors.read(cursor, binding)
    return caught.value.reason


def test_a_cursor_leads_back_to_its_position() -> None:
    assert CURSORS.read(CURSOR, BINDING) == POSITION
    assert CURSORS.position(CURSOR) == POSITION


def test_the_same_page_always_carries_the_same_cursor() -> None:
    assert CURSORS.write(POSITION, BINDING) == CURSOR


@pytest.mark.parametrize("at", range(len(CURSOR)))
def test_a_cursor_altered_in_any_byte_is_refused(at: int) -> None:
    """Also where the altered signature decodes to the same bytes, as the last character of base64 can."""
    for other in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~ \x00漢":
        if other != CURSOR[at]:
            assert reason_of(CURSOR[:at] + other + CURSOR[at + 1 :]) == "altered"


@settings(max_examples=200)
@given(st.text() | st.text().map(lambda text: CURSOR + text) | st.integers(0, 99).map(lambda length: CURSOR[:length]))
def test_what_was_never_signed_is_refused(text: str) -> None:
    if text != CURSOR:
        assert reason_of(text) == "altered"


def test_a_lone_surrogate_is_no_cursor() -> None:
    assert reason_of(CURSOR + "\ud800") == "altered"
    assert reason_of("\ud800" + CURSOR) == "altered"


@pytest.mark.parametrize(
    ("binding", "reason"),
    [
        (Binding("bob:s1", "digest", "grant"), "otherCaller"),
        (Binding("ada:s2", "digest", "grant"), "otherCaller"),
        (Binding("ada:s1", "other", "grant"), "otherArguments"),
        (Binding("ada:s1", "digest", "tighter"), "permissionChanged"),
    ],
)
def test_a_cursor_is_bound_to_caller_arguments_and_permission(binding: Binding, reason: str) -> None:
    assert reason_of(CURSOR, binding) == reason


def test_keys_rotate_without_breaking_cursors_of_the_key_before() -> None:
    before = Cursors(["old key"]).write(POSITION, BINDING)
    assert CURSORS.read(before, BINDING) == POSITION
    assert reason_of(CURSOR, cursors=Cursors(["old key"])) == "altered"
    assert Cursors(["new key"]).read(CURSOR, BINDING) == POSITION
