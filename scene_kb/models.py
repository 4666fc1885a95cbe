"""What a curator writes (scenes, synonyms) and what retrieval reads (cards), in that order.

A scene is one kind of question: a purpose over a dataset, with its parameters, metrics and fields. A card is a scene
reduced to the texts that ranking may look at, so that ranking also works on descriptions that have no dataset.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Literal, Self

from pydantic import Field as Setting
from pydantic import model_validator

from engine.dataset import ROW_COUNT, Dataset, Definition, Field, LegalValue, Place, Words
from engine.names import GRAINS
from engine.patterns import kept
from engine.policy import Policies

SceneStatus = Literal["draft", "published", "deprecated", "retired"]


class Parameter(Definition):
    """A filter that the scene asks for. It is a field of the dataset; type and legal values come from there."""

    name: str
    required: bool = False
    about: Words = Words()
    default: str | int | float | bool | None = Setting(None, description="used, with a warning, unless the query says")
    max_days: int | None = Setting(None, ge=1, description="the longest span of a time parameter")
    values: tuple[LegalValue, ...] = Setting((), description="legal values, where narrower than the field's own")


class Combination(Definition):
    """A ready set of fields for work across dimensions."""

    title: Words
    dimensions: tuple[str, ...] = ()
    fields: tuple[str, ...] = Setting(min_length=1)


class SceneFields(Definition):
    """Which of the dataset's fields belong to the scene, by shell pattern, and which it shows first."""

    default: tuple[str, ...] = Setting(min_length=1)
    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    about: Mapping[str, Words] = Setting({}, description="what a field means here, where that differs")


class Suggestion(Definition):
    order_by: tuple[str, ...] = ()
    limit: int | None = Setting(None, ge=1)


class Scene(Definition):
    """One kind of question that the data can answer."""

    scene_id: str = Setting(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")
    version: int = Setting(1, ge=1)
    status: SceneStatus = "published"
    title: Words
    api_no: str
    purpose: Words
    questions: tuple[str, ...] = Setting((), description="example questions, in the words of those who ask")
    dimensions: tuple[str, ...] = Setting(min_length=1)
    grain: tuple[str, ...] = Setting(
        (), description="rows are grouped by these, date:week among them, unless asked otherwise; empty: raw rows"
    )
    parameters: tuple[Parameter, ...] = ()
    metrics: tuple[str, ...] = ()
    fields: SceneFields
    combinations: tuple[Combination, ...] = ()
    suggested: Suggestion = Suggestion()
    differs: Words = Setting(Words(), description="what separates this scene from its neighbours, in one sentence")
    notes: Words = Words()
    flags: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    owner: str | None = None
    rollout: int = Setting(100, ge=0, le=100, description="percent of callers that see this version")
    successor: str | None = None
    deprecated_until: date | None = None

    @model_validator(mode="after")
    def _dates_of_a_deprecation(self) -> Self:
        if self.status == "deprecated" and self.deprecated_until is None:
            raise ValueError("a deprecated scene has no last day; add deprecatedUntil: YYYY-MM-DD")
        return self

    @property
    def ref(self) -> str:
        """sceneId@version, as callers pin it."""
        return f"{self.scene_id}@{self.version}"

    def field_names(self, dataset: Dataset) -> tuple[str, ...]:
        """The scene's fields in the dataset's order."""
        return kept(tuple(dataset.by_name), self.fields.include, self.fields.exclude)

    @property
    def grain_fields(self) -> tuple[str, ...]:
        """The fields of the grain without their units of time."""
        parts = (name.rpartition(":") for name in self.grain)
        return tuple(field if colon and unit in GRAINS else f"{field}{colon}{unit}" for field, colon, unit in parts)

    def about(self, field: Field) -> Words:
        return self.fields.about.get(field.name, field.about)

    def named_fields(self) -> tuple[tuple[Place, str], ...]:
        """(where in the scene, field name) for every field that the scene names."""
        named: list[tuple[Place, str]] = []
        named += [(("grain", at), name) for at, name in enumerate(self.grain_fields)]
        named += [(("parameters", at, "name"), parameter.name) for at, parameter in enumerate(self.parameters)]
        named += [(("metrics", at), name) for at, name in enumerate(self.metrics)]
        named += [(("fields", "default", at), name) for at, name in enumerate(self.fields.default)]
        named += [(("fields", "about", name), name) for name in self.fields.about]
        for of, combination in enumerate(self.combinations):
            named += [(("combinations", of, "fields", at), name) for at, name in enumerate(combination.fields)]
        order = self.suggested.order_by
        named += [(("suggested", "orderBy", at), name.removeprefix("-")) for at, name in enumerate(order)]
        return tuple(pair for pair in named if pair[1] != ROW_COUNT)


class DimensionName(Definition):
    title: Words
    aliases: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        return (*self.title.every(), *self.aliases)


class Synonyms(Definition):
    """The catalog's vocabulary: what its dimensions are called, and groups of words that mean the same."""

    dimensions: Mapping[str, DimensionName] = {}
    terms: tuple[tuple[str, ...], ...] = Setting((), description="each a group of words with one meaning")


@dataclass(frozen=True)
class Catalog:
    """A checked knowledge base: every name in it points to something that exists."""

    name: str
    datasets: Mapping[str, Dataset]
    scenes: tuple[Scene, ...]
    policies: Policies
    synonyms: Synonyms

    @cached_property
    def by_ref(self) -> Mapping[str, Scene]:
        return {scene.ref: scene for scene in self.scenes}

    def dataset_of(self, scene: Scene) -> Dataset:
        return self.datasets[scene.api_no]

    def dimension_names(self, dimension: str) -> tuple[str, ...]:
        """How people call the dimension, the best name first."""
        known = self.synonyms.dimensions.get(dimension)
        return known.names() if known else (dimension,)


@dataclass(frozen=True)
class FieldCard:
    """A field as ranking sees it."""

    name: str
    titles: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    group: str = ""
    role: str = ""
    type: str = ""
    values: tuple[str, ...] = ()
    """Names of legal values, whose mention in a query points to the field."""
    key: bool = False
    """One of the fields that identify a row."""


@dataclass(frozen=True)
class SceneCard:
    """A scene as ranking sees it: texts in any language, nothing else."""

    ref: str
    titles: tuple[str, ...]
    fields: tuple[FieldCard, ...]
    purposes: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    """Table or topic names that fields belong to."""
    dimensions: tuple[str, ...] = ()
    dimension_names: tuple[tuple[str, ...], ...] = ()
    """For each dimension, in the same order, how people call it."""
    metrics: tuple[str, ...] = ()
    default_fields: tuple[str, ...] = ()
    combinations: tuple[tuple[str, ...], ...] = ()
    grain: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    """The fields that are parameters."""


@dataclass(frozen=True)
class Reason:
    """Why a candidate stands where it does: a kind (purpose, question, field, dimension, metric) and the text met."""

    kind: str
    text: str


@dataclass(frozen=True)
class Candidate:
    ref: str
    confidence: float
    """Calibrated: of the answers given with confidence c, about the share c is right."""
    why: tuple[Reason, ...]
    scores: Mapping[str, float]
    """Every signal that ranked it, for the trace."""


@dataclass(frozen=True)
class Match:
    """The resolver's verdict over the scenes that the caller may see, best candidate first."""

    verdict: Literal["matched", "ambiguous", "no_match"]
    candidates: tuple[Candidate, ...]
    decisive: bool
    """The margin is so high that the fields may be chosen in the same step."""
    embedded: bool
    """Whether the query's vector was needed."""


@dataclass(frozen=True)
class RankedField:
    """A field's place for one task. `score` orders; `why` is empty where nothing in the task met it."""

    name: str
    score: float
    why: tuple[Reason, ...] = ()
