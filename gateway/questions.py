"""A question to the client's model or to the person in front of the client, and what became of it.

Knows no protocol and no subject: choosing.py and missing.py make questions, asking.py brings them there and back.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

By = Literal["client", "person"]
"""The client's model, or the person in front of the client."""
Outcome = Literal["accepted", "declined", "cancelled", "unable", "timed out"]
"""unable: the connection offers no way to ask, or what came back is no answer."""


@dataclass(frozen=True)
class Asking:
    """Who is asked what, how long an answer is waited for, and what seals the time of asking while the client holds it.

    Nobody is asked without keys.
    """

    scene: Literal["agent"] | By = "agent"
    """Who chooses where a match is ambiguous."""
    missing: Literal["agent", "person"] = "person"
    """Who gives the required filters that a call lacks."""
    within_s: float = 20
    keys: tuple[str, ...] = ()
    """Newest first."""


NOBODY_ASKED = Asking()


@dataclass(frozen=True)
class Prompt:
    """One short message to the client's model."""

    text: str


@dataclass(frozen=True)
class Form:
    """A form for the person. Every field of it is required."""

    message: str
    fields: Mapping[str, Mapping[str, Any]]
    """Name to a flat JSON Schema: one of text, number, boolean, or a text out of a list."""

    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {name: dict(it) for name, it in self.fields.items()},
            "required": list(self.fields),
        }


@dataclass(frozen=True)
class Response:
    outcome: Outcome
    text: str = ""
    """What the client's model said."""
    filled: Mapping[str, object] = field(default_factory=dict)
    """What the person filled in."""


Ask = Callable[[Prompt | Form], Awaitable[Response]]
"""Asks and waits, within the time that is set. Raises AnswerAwaited where the answer comes with a later call."""


class AnswerAwaited(Exception):
    """The connection takes the question with the end of this call, and brings the answer with the same call again."""

    def __init__(self, question: Prompt | Form) -> None:
        super().__init__("the answer comes with the next call")
        self.question = question
