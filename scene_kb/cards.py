"""From scenes and their datasets to the cards that ranking reads: every text, in every language it is written in."""

from collections.abc import Iterable
from dataclasses import replace

from engine.dataset import Dataset, Field, Words
from engine.folding import fold
from scene_kb.models import Catalog, FieldCard, Scene, SceneCard, Synonyms
from scene_kb.text import has_han

_VALUES_OF_A_FIELD = 40
"""Legal values beyond these are left to the engine: a field of a thousand cities must not outweigh its neighbours."""


def cards_of(scenes: Iterable[Scene], catalog: Catalog) -> tuple[SceneCard, ...]:
    """The cards of some of the catalog's scenes, in their order."""
    drawn = _FieldCards(catalog.synonyms)
    return tuple(_card(scene, catalog.dataset_of(scene), catalog.synonyms, drawn) for scene in scenes)


def _card(scene: Scene, dataset: Dataset, synonyms: Synonyms, drawn: "_FieldCards") -> SceneCard:
    return SceneCard(
        ref=scene.ref,
        titles=scene.title.every(),
        fields=drawn.of(scene, dataset),
        purposes=scene.purpose.every(),
        questions=scene.questions,
        parameters=tuple(_parameter_text(scene, dataset)),
        dimensions=scene.dimensions,
        dimension_names=tuple(_dimension_names(name, synonyms) for name in scene.dimensions),
        metrics=scene.metrics,
        default_fields=scene.fields.default,
        combinations=tuple(combination.fields for combination in scene.combinations),
        grain=scene.grain_fields,
        filters=tuple(parameter.name for parameter in scene.parameters),
    )


def shown_card(card: SceneCard) -> SceneCard:
    """The card with the fields that the scene shows by itself. What all scenes of a wide table share tells none apart.

    A card that shows nothing by itself (a schema that nobody curated) stays as it is.
    """
    shown = {*card.grain, *card.metrics, *card.default_fields, *card.filters}
    shown.update(name for combination in card.combinations for name in combination)
    return replace(card, fields=tuple(field for field in card.fields if field.name in shown)) if shown else card


class _FieldCards:
    """Scenes that read the same fields of a dataset in the same words share one tuple: of ten thousand most do, and
    what is shared is read, embedded and held once.
    """

    def __init__(self, synonyms: Synonyms) -> None:
        self._meanings = _Meanings(synonyms)
        self._drawn: dict[object, tuple[FieldCard, ...]] = {}

    def of(self, scene: Scene, dataset: Dataset) -> tuple[FieldCard, ...]:
        names = scene.field_names(dataset)
        alike = (dataset.api_no, names, tuple(scene.fields.about.items()))
        if alike not in self._drawn:
            self._drawn[alike] = tuple(self._card(scene, dataset, dataset.by_name[name]) for name in names)
        return self._drawn[alike]

    def _card(self, scene: Scene, dataset: Dataset, field: Field) -> FieldCard:
        titles = scene.about(field).every() or (field.name,)
        return FieldCard(
            name=field.name,
            titles=titles,
            aliases=tuple(dict.fromkeys((*field.aliases, *self._meanings.of(titles)))),
            role=field.role,
            type=field.type,
            values=tuple(
                name for value in field.values[:_VALUES_OF_A_FIELD] for name in value.names() if not name.isdigit()
            ),
            key=field.name in dataset.key,
        )


def _parameter_text(scene: Scene, dataset: Dataset) -> Iterable[str]:
    for parameter in scene.parameters:
        field = dataset.by_name[parameter.name]
        yield _joined(parameter.about) or _joined(scene.about(field)) or parameter.name


def _joined(words: Words) -> str:
    return " / ".join(words.every())


def _dimension_names(name: str, synonyms: Synonyms) -> tuple[str, ...]:
    known = synonyms.dimensions.get(name)
    return (name, *known.names()) if known else (name,)


class _Meanings:
    """The catalog's groups of words with one meaning."""

    def __init__(self, synonyms: Synonyms) -> None:
        self._groups = tuple(tuple(map(_needle, group)) for group in synonyms.terms)

    def of(self, names: Iterable[str]) -> tuple[str, ...]:
        """Each name with what it says said in other words of its language: 消耗周环比 as 花费周环比, never as 花费."""
        return tuple(
            dict.fromkeys(
                haystack.replace(needle, other).strip()
                for haystack in map(_haystack, names)
                for needles in self._groups
                for needle in needles
                if needle in haystack
                for other in needles
                if other != needle and (has_han(other) == has_han(needle) or needle.strip() == haystack.strip())
            )
        )


def _haystack(text: str) -> str:
    return f" {fold(text)} "


def _needle(term: str) -> str:
    """Chinese terms are found inside words; others only as whole words."""
    return fold(term) if has_han(term) else f" {fold(term)} "
