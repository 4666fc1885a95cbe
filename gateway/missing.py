"""The required filters that a call lacks, as a form for the person, and what was filled in."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.dataset import Language
from gateway.messages import say
from gateway.present.scene import ShownParameter
from gateway.questions import Form
from scene_kb.models import Scene

_MOST_CHOICES = 100  # a longer list is quicker typed into than read


def form_of(scene: Scene, parameters: Sequence[ShownParameter], language: Language) -> Form:
    """One field for each parameter, named as the filter."""
    fields = {it.parameter.name: _field(it, language) for it in parameters}
    titles = ", ".join(str(it["title"]) for it in fields.values())
    return Form(say("fill", language, title=scene.title.said_in(language), names=titles), fields)


def filled_in(form: Form, given: Mapping[str, object]) -> dict[str, object]:
    """The filters that were given: no blanks, and nothing that was not asked for."""
    texts = {name: value.strip() if isinstance(value, str) else value for name, value in given.items()}
    return {name: texts[name] for name in form.fields if texts.get(name) not in (None, "", [])}


def _field(shown: ShownParameter, language: Language) -> dict[str, Any]:
    parameter, field = shown.parameter, shown.field
    about = parameter.about.said_in(language) or field.about.said_in(language)
    schema: dict[str, Any] = {"type": _json_type(field.type), "title": about or parameter.name}
    if field.temporal:
        days = parameter.max_days
        schema["description"] = say("fill.time.days" if days else "fill.time", language, days=days)
    elif 0 < len(shown.legal) <= _MOST_CHOICES:
        schema["type"] = "string"
        schema["enum"] = [str(it.value) for it in shown.legal]
        schema["enumNames"] = [it.label.said_in(language) or str(it.value) for it in shown.legal]
    return schema


def _json_type(kind: str) -> str:
    """What a form may take as a number without losing a digit; everything else is text, and read like a filter's."""
    if kind in ("int64", "uint64"):
        return "string"  # a double holds no more than 53 bits
    if "int" in kind:
        return "integer"
    if kind.startswith(("float", "decimal")):
        return "number"
    return "boolean" if kind == "boolean" else "string"
