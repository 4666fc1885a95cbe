"""Scenes and questions as JSON lines, the exchange format of evaluation: `scenes.jsonl` and `questions.jsonl`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic import Field as Setting
from pydantic.alias_generators import to_camel

from engine.folding import nearest
from scene_kb.models import FieldCard, SceneCard

GOLDEN = "golden.jsonl"
"""The questions that a catalog is measured by, beside its other files."""

_SUGGESTED = 3


class MalformedLine(Exception):
    """A line that is no scene or question."""

    def __init__(self, path: Path, line: int, reason: str) -> None:
        super().__init__(f"{path}:{line}: {reason}")
        self.path = path
        self.line = line
        self.reason = reason


class UnknownLabel(Exception):
    """A question whose right answer names a scene or a field that does not exist."""

    def __init__(self, question: str, kind: str, name: str, legal: Iterable[str]) -> None:
        near = nearest(name, {it: () for it in legal})[:_SUGGESTED]
        super().__init__(
            f"the question '{question}' names the {kind} '{name}', which does not exist"
            + (f"; nearest: {', '.join(near)}" if near else "")
        )
        self.question = question
        self.kind = kind
        """scene or field"""
        self.name = name


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
    cards: dict[str, SceneCard] = {}
    withheld: set[str] = set()
    for number, scene in _lines(path, _SceneLine):
        if scene.scene_id in cards:
            raise MalformedLine(path, number, f"the scene '{scene.scene_id}' stands here a second time")
        cards[scene.scene_id] = _card(scene)
        if scene.withhold:
            withheld.add(scene.scene_id)
    return ReadScenes(tuple(cards.values()), frozenset(withheld))


def read_questions(path: Path) -> tuple[Question, ...]:
    """Raises MalformedLine and OSError. Unknown keys are ignored."""
    return tuple(
        Question(line.id, line.query, line.scene_id, frozenset(line.fields or ()))
        for _, line in _lines(path, _QuestionLine)
    )


def labelled(questions: Iterable[Question], cards: Iterable[SceneCard]) -> tuple[Question, ...]:
    """The questions with the ref of their scene, which they may name without its version.

    Raises UnknownLabel where a scene is not among the cards, or a field not in its scene.
    """
    by_name = {name: card for card in cards for name in (card.ref, card.ref.partition("@")[0])}
    return tuple(_labelled(question, by_name) for question in questions)


def _labelled(question: Question, by_name: Mapping[str, SceneCard]) -> Question:
    if question.scene is None:
        return question
    card = by_name.get(question.scene)
    if card is None:
        raise UnknownLabel(question.id, "scene", question.scene, sorted({card.ref for card in by_name.values()}))
    fields = [field.name for field in card.fields]
    for name in sorted(question.fields - set(fields)):
        raise UnknownLabel(question.id, "field", name, fields)
    return replace(question, scene=card.ref)


# What a line holds --------------------------------------------------------------------------------------------------


def _texts(value: Any) -> tuple[str, ...]:
    """Of a text, of texts by language, or of a list of texts or of things that have a name."""
    if not value:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Mapping):
        return tuple(str(text) for text in value.values() if text)
    if isinstance(value, list):
        return tuple(text for part in value for text in _texts(part.get("name") if isinstance(part, Mapping) else part))
    raise ValueError("neither a text, nor texts by language, nor a list of texts")


_Texts = Annotated[tuple[str, ...], BeforeValidator(_texts)]
_Name = Annotated[str, Setting(min_length=1)]


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel)


_LineOf = TypeVar("_LineOf", bound=_Line)


class _FieldLine(_Line):
    name: _Name
    title: _Texts = ()
    about: _Texts = ()
    group: str | None = None
    type: str | None = None


class _SceneLine(_Line):
    scene_id: _Name
    title: _Texts
    fields: tuple[_FieldLine, ...]
    purpose: _Texts = ()
    parameters: _Texts = ()
    groups: tuple[str, ...] | None = None
    dimensions: tuple[str, ...] | None = None
    withhold: bool | None = None


class _QuestionLine(_Line):
    id: str = Setting(coerce_numbers_to_str=True)
    query: _Name
    scene_id: _Name | None
    """Always there, so that a misspelt key is not taken for a question that nothing answers."""
    fields: tuple[str, ...] | None = None


def _lines(path: Path, kind: type[_LineOf]) -> Iterator[tuple[int, _LineOf]]:
    """(line number, what stands there), blank lines left out."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield number, kind.model_validate_json(line.strip())
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                place = ".".join(str(part) for part in first["loc"])
                reason = first["msg"].removeprefix("Value error, ").replace(" at line 1 column", " at column")
                raise MalformedLine(path, number, f"{place}: {reason}" if place else reason) from error


def _card(scene: _SceneLine) -> SceneCard:
    dimensions = scene.dimensions or ()
    return SceneCard(
        ref=scene.scene_id,
        titles=scene.title,
        fields=tuple(_field(field) for field in scene.fields),
        purposes=scene.purpose,
        parameters=scene.parameters,
        groups=scene.groups or (),
        dimensions=dimensions,
        dimension_names=tuple((name,) for name in dimensions),
    )


def _field(field: _FieldLine) -> FieldCard:
    return FieldCard(
        name=field.name,
        titles=field.title or (field.name,),
        aliases=field.about,
        group=field.group or "",
        type=(field.type or "").split(" ")[0].casefold(),
    )
