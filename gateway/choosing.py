"""Who chooses where a match is ambiguous, if not the calling agent: what they are asked, and what an answer means.

Knows no protocol: asking.py brings the question to the client's model or to the person, and the answer back.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from engine.dataset import Language
from gateway.messages import say

By = Literal["client", "person"]
"""The client's model, or the person in front of the client."""
Outcome = Literal["chosen", "declined", "unable", "timed out"]
"""unable: the connection offers no way to ask, or what came back is no answer."""

NONE = "none"
_QUERY = 1000
"""Characters of the query that are repeated in the question."""
_QUOTES = " \t\r\n`'\"*.。「」"
"""What models put around a bare id."""


@dataclass(frozen=True)
class Choosing:
    """Who is asked, how long an answer is waited for, and what seals the time of asking while the client holds it."""

    by: Literal["agent"] | By = "agent"
    within_s: float = 20
    keys: tuple[str, ...] = ()
    """Newest first."""


AGENT_CHOOSES = Choosing()


@dataclass(frozen=True)
class Option:
    ref: str
    scene_id: str
    title: str
    differs: str


@dataclass(frozen=True)
class Question:
    query: str
    language: Language
    options: tuple[Option, ...]

    def for_model(self) -> str:
        """One short message, answered by one sceneId or `none`."""
        return self._said("choose.client", lambda it: it.scene_id)

    def for_person(self) -> str:
        labels = {option.ref: label for label, option in self.by_label().items()}
        return self._said("choose.person", lambda it: labels[it.ref])

    def by_label(self) -> Mapping[str, Option]:
        """What a person is shown to choose from: titles, with the sceneId where two scenes share one."""
        titles = [it.title for it in self.options]
        return {it.title if titles.count(it.title) == 1 else f"{it.title} ({it.scene_id})": it for it in self.options}

    def _said(self, key: str, name: Callable[[Option], str]) -> str:
        lines = "\n".join(f"- {name(it)}: {it.differs or it.title}" for it in self.options)
        return say(key, self.language, query=self.query[:_QUERY], options=lines, none=NONE)


@dataclass(frozen=True)
class Choice:
    by: By
    outcome: Outcome
    ref: str | None = None
    """The chosen scene; None unless `chosen`."""


Choose = Callable[[Question], Awaitable[Choice]]
"""Asks and waits, within the time that is set. Raises AnswerAwaited where the answer comes with a later call."""


class AnswerAwaited(Exception):
    """The connection takes the question with the end of this call, and brings the answer with the same call again."""

    def __init__(self, by: By, question: Question) -> None:
        super().__init__("the answer comes with the next call")
        self.by = by
        self.question = question


def from_model(question: Question, said: str) -> Choice:
    """What the client's model answered."""
    word = said.strip(_QUOTES).casefold()
    if word == NONE:
        return Choice("client", "declined")
    ref = next((it.ref for it in question.options if it.scene_id.casefold() == word), None)
    return Choice("client", "chosen", ref) if ref else Choice("client", "unable")


def from_person(question: Question, label: object) -> Choice:
    """Which label the person chose."""
    option = question.by_label().get(label) if isinstance(label, str) else None
    return Choice("person", "chosen", option.ref) if option else Choice("person", "unable")
