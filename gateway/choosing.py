"""Who chooses where a match is ambiguous, if not the calling agent: what they are asked, and what an answer means."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from engine.dataset import Language
from gateway.messages import say
from gateway.questions import Ask, Asking, By, Form, Prompt

Outcome = Literal["chosen", "declined", "unable", "timed out"]
"""unable: the connection offers no way to ask, or what came back is no answer."""

NONE = "none"
_QUERY = 1000
"""Characters of the query that are repeated in the question."""
_QUOTES = " \t\r\n`'\"*.。「」"
"""What models put around a bare id."""
_FIELD = "scene"
"""The one field of the person's form."""


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

    def form(self) -> Form:
        labels = {option.ref: label for label, option in self.by_label().items()}
        message = self._said("choose.person", lambda it: labels[it.ref])
        return Form(message, {_FIELD: {"type": "string", "enum": list(self.by_label())}})

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
"""Raises AnswerAwaited where the answer comes with a later call."""


def chooser(asking: Asking, ask: Ask | None) -> Choose | None:
    """Who chooses; None where that is the calling agent."""
    return None if asking.scene == "agent" or ask is None else partial(_chosen, by=asking.scene, ask=ask)


async def _chosen(question: Question, *, by: By, ask: Ask) -> Choice:
    response = await ask(Prompt(question.for_model()) if by == "client" else question.form())
    match response.outcome:
        case "accepted" if by == "client":
            return from_model(question, response.text)
        case "accepted":
            return from_person(question, response.filled.get(_FIELD))
        case "declined" | "cancelled":
            return Choice(by, "declined")
        case "unable" | "timed out":
            return Choice(by, response.outcome)


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
