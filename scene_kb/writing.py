"""Definitions to the YAML that a curator reads: keys in the order of their shape, one entry of a list a line.

Only what was set is written. What is written reads back as the same definition.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date

from engine.dataset import Definition, LegalValue, Place, Words, language_of

_WIDTH = 110  # a value that fits stays in one line; the house's files are read side by side
_PLAIN = re.compile(r"[A-Za-z㐀-䶿一-鿿](?:[\w㐀-䶿一-鿿 .%/()（）、，：；。-]*[\w㐀-䶿一-鿿%)）。])?")
_NOT_TEXT = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})  # also for readers of YAML 1.1

Plain = dict[str, "Plain"] | list["Plain"] | str | int | float | bool | None


def yaml_of(definition: Definition, *, comments: Mapping[Place, str] | None = None, head: str = "") -> str:
    """The definition as a file. A comment at a key stands above it; one at an entry of a list, at the end of its line.

    `head` becomes the comment at the top.
    """
    plain = _plain(definition)
    assert isinstance(plain, dict)  # every Definition is a mapping, but for texts and values inside others
    lines = [f"# {line}" for line in head.splitlines()]
    for key, value in plain.items():
        lines += _block(key, value, (key,), "", comments or {})
    return "\n".join(lines) + "\n"


def _plain(value: object) -> Plain:
    """Lists, mappings and scalars, in the shortest form that the shapes take back."""
    if isinstance(value, Words):
        texts = {language: text for language, text in (("zh", value.zh), ("en", value.en)) if text}
        for language, text in texts.items():
            if len(texts) == 1 and language_of(text) == language and text == text.strip():
                return text
        return dict(texts)
    if isinstance(value, LegalValue) and value.model_fields_set == {"value"}:
        return value.value
    if isinstance(value, Definition):
        shape = type(value).model_fields
        return {
            field.alias or name: _plain(getattr(value, name))
            for name, field in shape.items()
            if name in value.model_fields_set and getattr(value, name) is not None
        }
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, date):  # also date-times
        return value.isoformat()
    assert value is None or isinstance(value, str | int | float | bool)
    return value


def _block(key: str, value: Plain, place: Place, indent: str, comments: Mapping[Place, str]) -> Iterator[str]:
    if place in comments:
        yield f"{indent}# {comments[place]}"
    line = f"{indent}{_text(key)}: {_flow(value)}"
    if not value or not isinstance(value, dict | list) or (len(line) <= _WIDTH and not (_nested(value) and not indent)):
        yield line
    elif isinstance(value, dict):
        yield f"{indent}{_text(key)}:"
        for name, item in value.items():
            yield from _block(name, item, (*place, name), indent + "  ", comments)
    else:
        yield f"{indent}{_text(key)}:"
        for at, item in enumerate(value):
            comment = comments.get((*place, at))
            yield f"{indent}  - {_flow(item)}" + (f"  # {comment}" if comment else "")


def _nested(value: dict[str, Plain] | list[Plain]) -> bool:
    """Whether the value holds mappings, each of which deserves a line of its own."""
    return any(isinstance(item, dict) for item in (value.values() if isinstance(value, dict) else value))


def _flow(value: Plain) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(text: str) -> str:
    """Plain where nobody could take it for something else, otherwise in double quotes, which hold any character."""
    if _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT and text.isprintable():
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else _escaped(char) for char in quoted)


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
