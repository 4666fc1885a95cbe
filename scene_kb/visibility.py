"""Which scenes a caller may see: published, permitted by scene and by data, one version of each."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date

from engine.dataset import Field
from engine.errors import UnknownDataset
from engine.permissions import sees_scene
from engine.policy import Principal
from engine.query import Grant
from scene_kb.models import Catalog, Scene

Granting = Callable[[str, Principal], Grant]
"""By apiNo and principal. Raises UnknownDataset. A Grant over hundreds of fields takes milliseconds to make, and scenes
share datasets, so whoever asks for many scenes hands in one that remembers."""


def visible_scenes(catalog: Catalog, principal: Principal, *, today: date, granting: Granting) -> Mapping[str, Scene]:
    """By ref, in the catalog's order: of each scene its newest answering version."""
    seen = (scene for scene in catalog.scenes if answers(scene, today))
    return _newest(scene for scene in seen if _may_see(catalog, scene, principal, granting))


def answering_scenes(catalog: Catalog, *, today: date) -> Mapping[str, Scene]:
    """By ref, in the catalog's order: of each scene its newest answering version, whoever may see it."""
    return _newest(scene for scene in catalog.scenes if answers(scene, today))


def pinned_scene(catalog: Catalog, principal: Principal, name: str, *, today: date, granting: Granting) -> Scene | None:
    """The scene called `ID` (its newest version) or `ID@VERSION`; None where there is none for this caller."""
    if "@" not in name:
        seen = visible_scenes(catalog, principal, today=today, granting=granting)
        return next((scene for scene in seen.values() if scene.scene_id == name), None)
    scene = catalog.by_ref.get(name)
    return scene if scene and answers(scene, today) and _may_see(catalog, scene, principal, granting) else None


def answers(scene: Scene, today: date) -> bool:
    """Published, or deprecated and not yet past its last day."""
    if scene.status == "deprecated":
        return scene.deprecated_until is not None and today <= scene.deprecated_until
    return scene.status == "published"


def permitted_fields(scene: Scene, catalog: Catalog, grant: Grant) -> tuple[str, ...]:
    """The scene's fields that the Grant allows, in the dataset's order.

    Where the scene groups, without the dimensions whose masks leave nothing to group by.
    """
    dataset = catalog.dataset_of(scene)
    return tuple(name for name in scene.field_names(dataset) if _may_show(dataset.by_name[name], scene, grant))


def scenes_are_hidden(catalog: Catalog, principal: Principal) -> bool:
    """Whether a policy that wants it said hides scenes from this principal. Follows from the policy alone."""
    held = catalog.policies.held_by(principal)
    sees_all = any("*" in role.scenes.allow for role in held) and not any(role.scenes.deny for role in held)
    return says_restricted(catalog, principal) and not sees_all


def says_restricted(catalog: Catalog, principal: Principal) -> bool:
    """Whether the principal may be told that something is hidden from them."""
    return any(role.says_restricted for role in catalog.policies.held_by(principal))


def _may_show(field: Field, scene: Scene, grant: Grant) -> bool:
    grouped = bool(scene.grain) and field.role == "dimension"
    return grant.allows(field.name, "groupBy") if grouped else field.name in grant.fields


def _newest(scenes: Iterable[Scene]) -> Mapping[str, Scene]:
    newest: dict[str, Scene] = {}
    for scene in scenes:
        known = newest.get(scene.scene_id)
        if known is None or scene.version > known.version:
            newest[scene.scene_id] = scene
    return {scene.ref: scene for scene in newest.values()}


def _may_see(catalog: Catalog, scene: Scene, principal: Principal, granting: Granting) -> bool:
    if not sees_scene(catalog.policies, principal, scene_id=scene.scene_id, tags=scene.tags):
        return False
    try:
        grant = granting(scene.api_no, principal)
    except UnknownDataset:
        return False
    return _can_do(scene, grant)


def _can_do(scene: Scene, grant: Grant) -> bool:
    """Whether the scene can do what its purpose says: group by its grain, and be asked for what it requires."""
    required = (parameter.name for parameter in scene.parameters if parameter.required)
    grouped = all(grant.allows(name, "groupBy") for name in scene.grain_fields)
    return grouped and all(grant.allows(name, "filters") for name in required)
