"""What of a query each name, field, group and scene of the candidates answers, word by word.

Everything later counted is read off these arrays; nothing here is weighed or learned.
"""

from dataclasses import dataclass

import numpy as np

from scene_kb.corpus import Ints, Lists
from scene_kb.recall import Floats, Terms, View


@dataclass(frozen=True)
class Evidence:
    """Over some scenes' fields, laid end to end. t tokens, n names, f fields, g groups, s scenes."""

    scenes: Ints
    fields: Ints
    """the fields' numbers in the corpus"""
    field_lists: Lists
    """scene -> its fields, as places in `fields`"""
    group_lists: Lists
    """scene -> its groups, as places among the groups below"""
    field_group: Ints
    """(f,) the place of the field's group"""
    name_share: Floats
    """(n,) how much of a name's rarity the query covers"""
    name_lists: Lists
    """field -> its names"""
    field_share: Floats
    """(f,) the same of the field's best name"""
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


def evidence_of(view: View, terms: Terms, scenes: Ints, *, fields: Ints | None = None) -> Evidence:
    """`fields`: of a single scene, those that count; left out, all fields of all scenes do."""
    corpus = view.corpus
    own_fields, own_groups = corpus.fields.take(scenes), corpus.groups.take(scenes)
    if fields is not None:
        assert len(scenes) == 1, "chosen fields are fields of one scene"
        own_fields = Lists(np.array([0, len(fields)], np.int32), fields)
    fields, groups = own_fields.items, own_groups.items
    own_names = corpus.field_names.take(fields)
    name_tokens = corpus.names.take(own_names.items)
    slots = terms.slot[name_tokens.items]
    met_by_any = terms.likeness.max(axis=0, initial=0.0)
    covered = name_tokens.sums(met_by_any[slots] * view.idf[name_tokens.items])
    name_share = (covered / np.maximum(view.name_mass[own_names.items], 1e-6)).astype(np.float32)
    by_name = name_tokens.highest(terms.likeness[:, slots])
    name_lists = Lists(own_names.starts, np.arange(len(own_names.items), dtype=np.int32))
    group_place = np.zeros(len(corpus.group_title.starts), np.int32)
    group_place[groups] = np.arange(len(groups))

    def met(lists: Lists, chosen: Ints) -> Floats:
        taken = lists.take(chosen)
        return taken.highest(terms.likeness[:, terms.slot[taken.items]])

    field_group = group_place[corpus.field_group[fields]]
    field_met = name_lists.highest(by_name)
    title_met = met(corpus.group_title, groups)
    return Evidence(
        scenes=scenes,
        fields=fields,
        field_lists=own_fields,
        group_lists=own_groups,
        field_group=field_group,
        name_share=name_share,
        name_lists=name_lists,
        field_share=name_lists.highest(name_share),
        field_met=field_met,
        field_joint=name_lists.highest(by_name * name_share),
        field_value=met(corpus.field_values, fields),
        group_met=np.maximum(title_met, highest_by(field_met, field_group, len(groups))),
        title_met=title_met,
        about_met=met(corpus.about_tokens, scenes),
        scene_met=met(corpus.scene_tokens, scenes),
    )


def highest_by(values: Floats, owner: Ints, count: int) -> Floats:
    """(t, items) values -> (t, owners) the highest of each owner's items, 0 for an owner without."""
    order = np.argsort(owner, kind="stable").astype(np.int32)
    starts = np.searchsorted(owner[order], np.arange(count + 1)).astype(np.int32)
    return Lists(starts, order).highest(values[:, order])
