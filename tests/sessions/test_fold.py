"""A session is a fold over its turns."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from sessions.models import Lifetime, Session, Turn, fold, new_session_id

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def turn(facts: dict[str, object], *, minutes: int = 0, outcome: str = "answered") -> Turn:
    return Turn("s", "me", NOW + timedelta(minutes=minutes), "apiCall", outcome, {}, facts, {})  # type: ignore[arg-type]


def folded(*turns: Turn) -> Session:
    session = fold(turns)
    assert session is not None
    return session


def test_no_turns_are_no_session() -> None:
    assert fold(()) is None


def test_later_facts_replace_and_mappings_merge() -> None:
    session = folded(turn({"scene": "A", "held": {"x": 1}}), turn({"scene": "B", "held": {"y": 2}}))
    assert session.facts == {"scene": "B", "held": {"x": 1, "y": 2}}


def test_a_refused_turn_leaves_no_facts_but_counts_for_the_time() -> None:
    session = folded(turn({"scene": "A"}), turn({"scene": "B"}, minutes=3, outcome="refused"))
    assert session.facts == {"scene": "A"}
    assert session.last_at == NOW + timedelta(minutes=3)


def test_a_session_expires_by_sleep_and_by_age() -> None:
    lifetime = Lifetime(idle=timedelta(minutes=5), age=timedelta(minutes=20))
    awake = folded(*(turn({}, minutes=minute) for minute in (0, 4, 8, 12, 16)))
    assert not awake.has_expired(NOW + timedelta(minutes=20), lifetime)
    assert awake.has_expired(NOW + timedelta(minutes=20, seconds=1), lifetime)
    assert folded(turn({})).has_expired(NOW + timedelta(minutes=5, seconds=1), lifetime)


def test_an_id_has_128_bits_and_is_never_twice_the_same() -> None:
    ids = {new_session_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(len(bytes.fromhex(it)) == 16 for it in ids)


FACTS = st.dictionaries(
    st.sampled_from("abc"), st.one_of(st.integers(), st.dictionaries(st.sampled_from("xy"), st.integers()))
)


@given(st.lists(FACTS, min_size=1, max_size=6), st.data())
def test_two_calls_at_once_lose_nothing(facts: list[dict[str, object]], data: st.DataObject) -> None:
    """Whatever order parallel turns land in, each key holds what some turn said of it."""
    order = data.draw(st.permutations(facts))
    session = folded(*(turn(it) for it in order))
    assert set(session.facts) == {key for it in facts for key in it}
