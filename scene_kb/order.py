"""How a task wants its rows ordered and cut: the 5 longest delays, 消耗最少的三个广告, TOP10."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.dataset import Dataset
from engine.folding import fold
from engine.numerals import ENGLISH_NUMBERS, HAN_NUMBER, number_of
from scene_kb.models import RankedField, Scene, Suggestion

_N = rf"(?P<n>\d{{1,4}}|[{HAN_NUMBER}]{{1,3}}|{'|'.join(list(ENGLISH_NUMBERS)[2:])})"
_NO_TIME = r"(?!\s*(?:天|日|周|星期|个?月|季|年|小时|%|(?:day|week|month|quarter|year|hour)s?\b))"
_EACH = r"\s*(?:个|条|名|家|款|位|支|项|次)?"
_MOST = r"最(?:高|多|大|长|久|贵|重|严重)"
_LEAST = r"最(?:低|少|小|短|便宜|轻)"
_MOST_EN = r"\b(?:most|highest|largest|longest|biggest|greatest)\b"
_LEAST_EN = r"\b(?:least|lowest|smallest|shortest|fewest|cheapest)\b"
_DESCENDING = re.compile(rf"{_MOST}|{_MOST_EN}")
_ASCENDING = re.compile(rf"{_LEAST}|倒数|{_LEAST_EN}|\bbottom\b")
_BY = re.compile(r"(?<![a-z])(?:top|rank\w*|sort\w*|order\w*)\b.*\bby\b|按.+(?:排序|排名|排列|倒序|降序)")
_EITHER = r"最(?:好|差|快|慢)|\b(?:best|worst|busiest|fastest|slowest)\b"
_SUPERLATIVE = rf"(?:{_MOST}|{_LEAST}|{_MOST_EN}|{_LEAST_EN}|{_EITHER})"
_LIMITS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:(?<![a-z])(?:top|bottom|first)|前|倒数|排名前)\s*{_N}{_NO_TIME}",
        rf"{_SUPERLATIVE}的?\s*{_N}{_EACH}{_NO_TIME}",
        rf"{_N}{_NO_TIME}{_EACH}\s*{_SUPERLATIVE}",
        rf"(?:\b(?:which|what|the|show|list|name|find|me)\s+|哪){_N}{_NO_TIME}(?=.*{_SUPERLATIVE})",
    )
)


@dataclass(frozen=True)
class AskedOrder:
    descending: bool | None
    """None where no superlative says which end is wanted."""
    limit: int | None


def asked_order(query: str) -> AskedOrder:
    """What the words say; best and worst name no end, since that depends on the metric."""
    text = fold(query)
    most, least = _DESCENDING.search(text), _ASCENDING.search(text)
    descending = None if (most is None) == (least is None) else most is not None
    if most is None and least is None and _BY.search(text):
        descending = True
    found = next(filter(None, (pattern.search(text) for pattern in _LIMITS)), None)
    return AskedOrder(descending, _count(found["n"]) if found else None)


def suggestion(scene: Scene, dataset: Dataset, query: str, ranked: Sequence[RankedField]) -> Suggestion:
    """The scene's own order, or one by the metric that the task asks for; cut as the task says, or as the scene does.

    A superlative, or a top by something, speaks of the best ranked metric: the longest delays. A bare TOP10 leaves it
    to the scene: that of anomalies is by the change.
    """
    asked = asked_order(query)
    limit = asked.limit or scene.suggested.limit
    meant = _meant(scene, dataset, ranked)
    if asked.descending is None or not meant:
        return Suggestion(order_by=scene.suggested.order_by, limit=limit)
    return Suggestion(order_by=(f"-{meant[0]}" if asked.descending else meant[0],), limit=limit)


def _meant(scene: Scene, dataset: Dataset, ranked: Sequence[RankedField]) -> Sequence[str]:
    """The metrics that a word of the task stands for, best first; of raw rows only what stands in them."""

    def sortable(name: str) -> bool:
        field = dataset.by_name[name]
        return field.role == "metric" and (field.stored or bool(scene.grain))

    return [field.name for field in ranked if field.why and sortable(field.name)]


def _count(text: str) -> int | None:
    number = number_of(text)
    return int(number) if number is not None and number >= 1 else None
