"""What of a query each field, group and scene of the candidates answers, word by word.

Everything later counted is read off these arrays; nothing here is weighed or learned. Most words of a scene meet
nothing, so that the few that do are picked out first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scene_kb.corpus import Corpus, Ints, Lists
from scene_kb.terms import Terms
from scene_kb.text import is_pair
from scene_kb.view import Floats, View

_IN_FULL = 0.99
_SURELY = 0.9


@dataclass(frozen=True)
class Evidence:
    """Over some scenes' fields, laid end to end. t tokens, f fields, g groups, s scenes."""

    scenes: Ints
    fields: Ints
    """the fields' numbers in the corpus"""
    field_lists: Lists
    """scene -> its fields, as numbers in the corpus; `starts` are places in `fields`"""
    group_lists: Lists
    """scene -> its groups, likewise"""
    field_group: Ints
    """(f,) the place of the field's group"""
    field_share: Floats
    """(f,) how much of the rarity of the field's best name the query covers"""
    field_met: Floats
    """(t, f) how surely a token stands in one of the field's names"""
    field_joint: Floats
    """(t, f) the same, times how much of that name is covered by the whole query"""
    field_value: Floats
    """(t, f) how surely a token is one of the field's legal values"""
    group_met: Floats
    """(t, g) in the group's title or one of its fields"""
    title_met: Floats
    """(t, g) in the group's title"""
    about_met: Floats
    """(t, s) in the scene's title, purposes or questions"""
    scene_met: Floats
    """(t, s) anywhere in the scene"""


def evidence_of(
    view: View, terms: Terms, scenes: Ints, *, fields: Ints | None = None, rarity: Floats | None = None
) -> Evidence:
    """`fields`: of a single scene, those that count; left out, all fields of all scenes do.

    `rarity`: (vocabulary,) by which a name is covered, where it is not that over the visible scenes.
    """
    corpus = view.corpus
    own_fields, own_groups = corpus.fields.take(scenes), corpus.groups.take(scenes)
    if fields is not None:
        assert len(scenes) == 1, "chosen fields are fields of one scene"
        own_fields = Lists(np.array([0, len(fields)], np.int32), fields)
    chosen, groups = own_fields.items, own_groups.items
    place_of_field = np.full(len(corpus.field_group), -1, np.int32)
    place_of_field[chosen] = np.arange(len(chosen))
    place_of_group = np.zeros(len(corpus.group_title.starts), np.int32)
    place_of_group[groups] = np.arange(len(groups))
    field_group = place_of_group[corpus.field_group[chosen]]
    idf = view.idf if rarity is None else rarity
    share, met, joint = _names_met(view, terms, idf, scenes, place_of_field, len(chosen))
    titles = corpus.group_title.take(groups)
    title_met = highest_by(terms.likeness[:, terms.slot[titles.items]], titles.owners(), len(groups))
    return Evidence(
        scenes=scenes,
        fields=chosen,
        field_lists=own_fields,
        group_lists=own_groups,
        field_group=field_group,
        field_share=share,
        field_met=met,
        field_joint=joint,
        field_value=_values_met(corpus, terms, scenes, place_of_field, len(chosen)),
        group_met=np.maximum(title_met, highest_by(met, field_group, len(groups))),
        title_met=title_met,
        about_met=_scenes_met(corpus.about_tokens, terms, scenes),
        scene_met=_scenes_met(corpus.scene_tokens, terms, scenes),
    )


def is_strange(terms: Terms, evidence: Evidence) -> bool:
    """Whether nothing that the query asks for is called anything in any candidate: legal values alone, among words that
    no scene knows, are no evidence (will it rain in Shanghai?).
    """
    if not evidence.scene_met.any():
        return True
    words = np.array([not is_pair(token) for token in terms.tokens], bool)
    value = _anywhere(evidence.field_value) > 0
    called = np.maximum(_anywhere(evidence.field_met), _anywhere(evidence.title_met)) > 0
    named = called | ((_anywhere(evidence.about_met) > 0) & ~value)  # a scene's questions name values too
    unknown = (terms.alike > 0) & (_anywhere(terms.likeness) == 0)
    return bool(value.any() and unknown.any() and not (named & words).any())


def is_familiar(terms: Terms, evidence: Evidence) -> bool:
    """Whether every word of the query belongs to a name that it says in full, or is a legal value: a bare field."""
    words = np.array([not is_pair(token) for token in terms.tokens]) & (terms.factors > 0)
    named = _anywhere(evidence.field_met[:, evidence.field_share > _IN_FULL])
    said = np.maximum(named, _anywhere(evidence.field_value)) >= _SURELY
    return bool(words.any()) and not bool((words & ~said).any())


def _anywhere(met: Floats) -> Floats:
    return np.asarray(met.max(axis=1, initial=0.0), np.float32)


def highest_by(values: Floats, owner: Ints, count: int) -> Floats:
    """(t, items) values -> (t, owners) the highest of each owner's items, 0 for an owner without."""
    best = np.zeros((len(values), count), np.float32)
    if values.shape[1]:
        order = np.argsort(owner, kind="stable")
        sorted_owner = owner[order]
        first = _firsts(sorted_owner)
        best[:, sorted_owner[first]] = np.maximum.reduceat(values[:, order], first, axis=1)
    return best


def _names_met(
    view: View, terms: Terms, idf: Floats, scenes: Ints, place_of_field: Ints, count: int
) -> tuple[Floats, Floats, Floats]:
    """field_share, field_met and field_joint."""
    corpus = view.corpus
    spans = [_name_span(corpus, int(scene)) for scene in scenes]
    slots = _joined([terms.slot[corpus.names.items[span]] for span in spans])
    names = _joined([corpus.token_name[span] for span in spans])
    live = np.flatnonzero(slots)
    live = live[place_of_field[corpus.name_field[names[live]]] >= 0]
    share, met = np.zeros(count, np.float32), np.zeros((len(terms.tokens), count), np.float32)
    joint = np.zeros_like(met)
    if not len(live):
        return share, met, joint
    slots, names = slots[live], names[live]
    first = _firsts(names)
    rarity = idf[terms.words[slots - 1]]
    covered = np.add.reduceat(terms.likeness.max(axis=0)[slots] * rarity, first)
    own = corpus.names.take(names[first])
    name_share = (covered / np.maximum(own.sums(idf[own.items]), 1e-6)).astype(np.float32)
    by_name = np.maximum.reduceat(terms.likeness[:, slots], first, axis=1)
    owners = place_of_field[corpus.name_field[names[first]]]
    first = _firsts(owners)
    places = owners[first]
    share[places] = np.maximum.reduceat(name_share, first)
    met[:, places] = np.maximum.reduceat(by_name, first, axis=1)
    joint[:, places] = np.maximum.reduceat(by_name * name_share, first, axis=1)
    return share, met, joint


def _values_met(corpus: Corpus, terms: Terms, scenes: Ints, place_of_field: Ints, count: int) -> Floats:
    lists = corpus.field_values
    met = np.zeros((len(terms.tokens), count), np.float32)
    spans = [lists.span(int(corpus.fields[int(scene)][0]), int(corpus.fields[int(scene)][-1]) + 1) for scene in scenes]
    slots = _joined([terms.slot[lists.items[span]] for span in spans])
    items = _joined([np.arange(span.start, span.stop, dtype=np.int32) for span in spans])
    live = np.flatnonzero(slots)
    owners = place_of_field[np.searchsorted(lists.starts, items[live], side="right") - 1]
    live, owners = live[owners >= 0], owners[owners >= 0]
    if len(live):
        first = _firsts(owners)
        met[:, owners[first]] = np.maximum.reduceat(terms.likeness[:, slots[live]], first, axis=1)
    return met


def _scenes_met(lists: Lists, terms: Terms, scenes: Ints) -> Floats:
    met = np.zeros((len(terms.tokens), len(scenes)), np.float32)
    for place, scene in enumerate(scenes):
        slots = terms.slot[lists[int(scene)]]
        met[:, place] = terms.likeness[:, slots[slots > 0]].max(axis=1, initial=0.0)
    return met


def _name_span(corpus: Corpus, scene: int) -> slice:
    """The items of `names` that belong to the scene's fields, which lie together."""
    names = corpus.field_names.span(int(corpus.fields.items[corpus.fields.starts[scene]]), _end(corpus, scene))
    return corpus.names.span(names.start, names.stop)


def _end(corpus: Corpus, scene: int) -> int:
    return int(corpus.fields[scene][-1]) + 1


def _joined(parts: Sequence[NDArray[np.int32]]) -> Ints:
    return np.concatenate(parts) if parts else np.zeros(0, np.int32)


def _firsts(ascending: Ints) -> NDArray[np.intp]:
    """Where each run of equal numbers begins."""
    return np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))
