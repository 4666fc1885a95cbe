"""Scenes and questions as JSON lines, the exchange format of evaluation: `scenes.jsonl` and `questions.jsonl`."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scene_kb.models import FieldCard, SceneCard


class MalformedLine(Exception):
    """A line that is no scene or question."""

    def __init__(self, path: Path, line: int, reason: str) -> None:
        super().__init__(f"{path}:{line}: {reason}")
        self.path = path
        self.line = line
        self.reason = reason


@dataclass(frozen=True)
class Question:
    """A query with its right scene, None where no scene answers, and the fields that the answer needs."""

    id: str
    query: str
    scene: str | None
    fields: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ReadScenes:
    cards: tuple[SceneCard, ...]
    withheld: frozenset[str]
    """Refs that leave the knowledge base for the no-match figures."""


def read_scenes(path: Path) -> ReadScenes:
    """Raises MalformedLine and OSError. Unknown keys are ignored."""
    cards: list[SceneCard] = []
    withheld: set[str] = set()
    for number, facts in _lines(path):
        try:
            card = _card(facts)
        except (KeyError, TypeError) as error:
            raise MalformedLine(path, number, f"no scene: {error!r}") from error
        cards.append(card)
        if facts.get("withhold"):
            withheld.add(card.ref)
    return ReadScenes(tuple(cards), frozenset(withheld))


def read_questions(path: Path) -> tuple[Question, ...]:
    """Raises MalformedLine and OSError."""
    questions: list[Question] = []
    for number, facts in _lines(path):
        try:
            scene = facts.get("sceneId")
            questions.append(Question(str(facts["id"]), facts["query"], scene, frozenset(facts.get("fields") or ())))
        except (KeyError, TypeError) as error:
            raise MalformedLine(path, number, f"no question: {error!r}") from error
    return tuple(questions)


def _lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                facts = json.loads(line)
            except ValueError as error:
                raise MalformedLine(path, number, f"no JSON: {error}") from error
            if not isinstance(facts, dict):
                raise MalformedLine(path, number, "no JSON object")
            yield number, facts


def _card(facts: Mapping[str, Any]) -> SceneCard:
    dimensions = tuple(facts.get("dimensions") or ())
    return SceneCard(
        ref=facts["sceneId"],
        titles=_texts(facts["title"]),
        fields=tuple(_field(field) for field in facts["fields"]),
        purposes=_texts(facts.get("purpose")),
        parameters=_texts(facts.get("parameters")),
        groups=tuple(facts.get("groups") or ()),
        dimensions=dimensions,
        dimension_names=tuple((name,) for name in dimensions),
    )


def _field(facts: Mapping[str, Any]) -> FieldCard:
    return FieldCard(
        name=facts["name"],
        titles=_texts(facts.get("title") or facts["name"]),
        aliases=_texts(facts.get("about")),
        group=facts.get("group") or "",
        type=(facts.get("type") or "").split(" ")[0].casefold(),
    )


def _texts(value: Any) -> tuple[str, ...]:
    if not value:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Mapping):
        return tuple(str(text) for text in value.values() if text)
    return tuple(text for part in value for text in _texts(part.get("name") if isinstance(part, Mapping) else part))
