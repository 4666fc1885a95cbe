"""One YAML file as plain values that still know their lines.

Scalars follow YAML 1.2, so `no`, `on` and dates are text; a code such as 007 stays text too. Read through libyaml: a
dataset of 300 fields takes 25 ms, where a reader that keeps comments takes 300 ms and is left to editing.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import yaml
import yaml.reader

from engine.dataset import Place
from scene_kb.diagnostics import CatalogFault, Diagnostic

_TAG = "tag:yaml.org,2002:"

_VALUES: Mapping[str, Callable[[str], object]] = {
    "null": lambda text: None,
    "bool": lambda text: text.lower() == "true",
    "int": int,
    "float": float,
    "str": str,
}

_REMEDIES: Mapping[str, str] = {
    # libyaml's problem: what helps
    "found a tab character that violates indentation": "indent with spaces",
    "found character that cannot start any token": "indent with spaces, and quote a text that begins with @, ` or %",
    "mapping values are not allowed in this context": "quote a text that holds ': ', and indent keys alike",
    "did not find expected key": "indent the keys of one mapping alike",
    "did not find expected ',' or ']'": "close the list with ]",
    "did not find expected ',' or '}'": "close the mapping with }",
    "found unexpected end of stream": "close the quote",
    "but found another document": "keep one document in a file",
}


class _Loader(yaml.CBaseLoader):
    """libyaml's parser, which tells the kinds of plain scalars apart by their look and first character."""


def _scalar(kind: str, look: str, first: Sequence[str]) -> None:
    _Loader.add_implicit_resolver(_TAG + kind, re.compile(f"(?:{look})$"), list(first))


_scalar("null", r"~|null|Null|NULL|", ("~", "n", "N", ""))
_scalar("bool", r"true|True|TRUE|false|False|FALSE", "tTfF")
_scalar("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789")
_scalar("float", r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", "-+.0123456789")


@dataclass(frozen=True)
class Document:
    file: str
    """Relative to the catalog's folder."""
    value: object
    """Mappings with text keys, lists, str, int, float, bool or None."""
    root: yaml.Node = field(repr=False)

    def locate(self, place: Place) -> tuple[Place, int]:
        """The part of `place` that exists in the file, and the line where its last node begins, counted from 1."""
        node, line = self.root, self.root.start_mark.line
        for depth, part in enumerate(place):
            step = _child(node, part)
            if step is None:
                return place[:depth], line + 1
            line, node = step
        return place, line + 1

    def fault(self, place: Place, message: str, fix: str) -> Diagnostic:
        return Diagnostic(self.file, self.locate(place)[1], message, fix)


def read_document(file: str, content: bytes) -> Document:
    """Raises CatalogFault where the bytes are no UTF-8, no YAML of one document, or write a key of a mapping twice."""
    root = _composed(file, _decoded(file, content))
    faults: list[Diagnostic] = []
    value = _plain(root, file, faults, inside=())
    if faults:
        raise CatalogFault(faults)
    return Document(file, value, root)


def _decoded(file: str, content: bytes) -> str:
    try:
        return content.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise CatalogFault([Diagnostic(file, line, "the file is not UTF-8", "save it as UTF-8")]) from error


def _composed(file: str, text: str) -> yaml.Node:
    try:
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        raise CatalogFault([_unreadable(file, error)]) from error
    except yaml.reader.ReaderError as error:
        line = text.encode().count(b"\n", 0, error.position) + 1
        raise CatalogFault([Diagnostic(file, line, "holds a control character", "delete the character")]) from error
    if root is None:
        raise CatalogFault([Diagnostic(file, 1, "the file is empty", "write its content, or delete it")])
    return root


def _unreadable(file: str, error: yaml.MarkedYAMLError) -> Diagnostic:
    problem = error.problem or "it breaks off"
    at = error.problem_mark.line + 1 if error.problem_mark else 0
    began = error.context_mark.line + 1 if error.context_mark else at
    since = f" (what is open began in line {began})" if began != at else ""
    return Diagnostic(file, at, f"cannot be read as YAML: {problem}{since}", _REMEDIES.get(problem, "mend the line"))


def _plain(node: yaml.Node, file: str, faults: list[Diagnostic], *, inside: tuple[yaml.Node, ...]) -> object:
    """The node's value; what cannot be one is added to `faults`. `inside` are the nodes around it, to find circles."""

    def fault(at: yaml.Node, message: str, fix: str) -> None:
        faults.append(Diagnostic(file, at.start_mark.line + 1, message, fix))

    if node in inside:
        fault(node, "an alias stands inside what it stands for", "write the content out")
        return None
    inside = (*inside, node)
    kind = node.tag.removeprefix(_TAG)
    if isinstance(node, yaml.ScalarNode):
        if kind not in _VALUES:
            fault(node, f"the tag {node.tag} has no meaning here", "delete it")
            return None
        return _VALUES[kind](node.value)
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, file, faults, inside=inside) for item in node.value]
    written: dict[str, int] = {}
    values: dict[str, object] = {}
    for key, item in node.value:
        if not isinstance(key, yaml.ScalarNode):
            fault(key, "a key is a list or mapping", "write a text before the colon, quoted where it holds brackets")
            continue
        if key.value in written:
            fault(key, f"key '{key.value}' is written twice, first in line {written[key.value]}", "keep one")
        written.setdefault(key.value, key.start_mark.line + 1)
        values[key.value] = _plain(item, file, faults, inside=inside)
    return values


def _child(node: yaml.Node, part: str | int) -> tuple[int, yaml.Node] | None:
    """(line, node) of the entry: a mapping's entry begins with its key."""
    if isinstance(node, yaml.MappingNode):
        return next(((key.start_mark.line, item) for key, item in node.value if key.value == part), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part].start_mark.line, node.value[part]
    return None
