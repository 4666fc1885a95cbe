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
    found = next(filter(None, (pattern.search(text) for pattern in _LIMITS)), None)
    return AskedOrder(descending, _count(found["n"]) if found else None)


def suggestion(scene: Scene, dataset: Dataset, query: str, ranked: Sequence[RankedField]) -> Suggestion:
    """The scene's own order, or one by the metric that the task asks for; cut as the task says, or as the scene does.

    A superlative speaks of the best ranked metric (the longest delays). Without one the scene's own metric stays where
    the task means it at all: TOP10 of anomalies is by the change, not by what changed.
    """
    asked = asked_order(query)
    limit = asked.limit or scene.suggested.limit
    own = scene.suggested.order_by
    meant = _meant(scene, dataset, ranked)
    leading = own[0].removeprefix("-").partition(":")[0] if own else ""
    by_metric = leading in dataset.by_name and dataset.by_name[leading].role == "metric"
    if not meant or (asked.descending is None and (leading in meant or not (by_metric or asked.limit))):
        return Suggestion(order_by=own, limit=limit)
    return Suggestion(order_by=(meant[0] if asked.descending is False else f"-{meant[0]}",), limit=limit)


def _meant(scene: Scene, dataset: Dataset, ranked: Sequence[RankedField]) -> Sequence[str]:
    """The metrics that a word of the task stands for, best first; of raw rows only what stands in them."""

    def sortable(name: str) -> bool:
        field = dataset.by_name[name]
        return field.role == "metric" and (field.stored or bool(scene.grain))

    return [field.name for field in ranked if field.why and sortable(field.name)]


def _count(text: str) -> int | None:
    number = number_of(text)
    return int(number) if number is not None and number >= 1 else None
