"""Scenes for a dataset that nobody has described yet: its single rows, and its metrics by the most telling dimensions.

Pure. The wording is plain and holds the fields' own names, since those are all that is known.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.dataset import ROW_COUNT, Dataset, Field, Language, Words, language_of
from engine.folding import fold
from scene_kb.importers.ids import Ids
from scene_kb.models import DimensionName, Parameter, Scene, SceneFields, Suggestion
from scene_kb.recognise import is_year
from scene_kb.text import HAN

_BREAKDOWNS = 3
_SHOWN = 12  # fields that a scene shows by default
_NAMED = 10  # fields that a purpose names; a longer text is near everything and therefore near nothing
_FILTERS = 6
_LONGEST_NAME = 40  # a longer text describes rather than names
_MOST_GROUPS = 1000  # a dimension with more values than this is looked up, not compared
_TELLING = 50  # up to so many groups are read as a whole
_TYPES = ("string", "int", "uint", "date", "boolean")  # that make groups, the most telling first

_MEASURED: Mapping[str, tuple[tuple[str, str], str]] = {
    "sum": (("", "合计"), "total"),
    "avg": (("平均", ""), "average"),
    "min": (("最小", ""), "minimum"),
    "max": (("最大", ""), "maximum"),
}
"""What stands before and after a metric's name in Chinese, and before it in English."""

_SEAM = re.compile(rf"[{HAN}][!-~]|[!-~][{HAN}]")


@dataclass
class DimensionNames:
    """The catalog's dimensions while it is drafted. Columns of one name in several tables are one dimension."""

    ids: Ids = field(default_factory=Ids)
    named: dict[str, DimensionName] = field(default_factory=dict)

    def of(self, title: Words) -> str:
        """The id of the dimension that is called `title`."""
        for dimension, name in self.named.items():
            if set(map(fold, title.every())) & set(map(fold, name.names())):
                return dimension
        dimension = self.ids.make(title.en or title.zh, otherwise="dimension").lower()
        self.named[dimension] = DimensionName(title=title)
        return dimension


def scenes_of(
    dataset: Dataset, distinct: Mapping[str, int], *, rows: int, dimensions: DimensionNames, ids: Ids
) -> tuple[Scene, ...]:
    """`distinct` holds the number of different values of each dimension that was looked at.

    What the scenes' dimensions are called is added to `dimensions`.
    """
    return (
        _single_rows(dataset, dimensions, ids),
        *(_breakdown(dataset, it, dimensions, ids) for it in breakdowns(dataset, distinct, rows=rows)),
    )


def breakdowns(dataset: Dataset, distinct: Mapping[str, int], *, rows: int) -> tuple[Field, ...]:
    """The dimensions that make the most telling groups, best first: listed values, then texts, then few groups."""

    def telling(it: Field) -> bool:
        return (
            it.role == "dimension"
            and not it.flags
            and it.type.startswith(_TYPES)
            and 2 <= distinct.get(it.name, 0) <= min(_TELLING if it.numeric else _MOST_GROUPS, rows // 2)
        )

    def rank(it: Field) -> tuple[bool, int, bool]:
        return not it.values, _kind_rank(it), distinct[it.name] > _TELLING

    return tuple(sorted(filter(telling, dataset.fields), key=rank)[:_BREAKDOWNS])


def _kind_rank(it: Field) -> int:
    return next(at for at, kind in enumerate(_TYPES) if it.type.startswith(kind))


def _single_rows(dataset: Dataset, dimensions: DimensionNames, ids: Ids) -> Scene:
    shown = _shown(dataset)
    fields = [dataset.by_name[name] for name in shown]
    zh, en = dataset.title.said_in("zh"), dataset.title.said_in("en")
    return Scene(
        scene_id=ids.make(f"{dataset.api_no}_ROWS", otherwise="SCENE").upper(),
        title=Words(zh=_zh(zh, "明细"), en=f"{en}: single rows"),
        api_no=dataset.api_no,
        purpose=Words(
            zh=_zh("逐条查看", zh, f"的记录：{_listed(fields, 'zh')}"),
            en=f"Look up single rows of {en}: {_listed(fields, 'en')}",
        ),
        dimensions=(dimensions.of(dataset.title),),
        parameters=_parameters(dataset),
        fields=SceneFields(default=shown),
        suggested=Suggestion(order_by=(f"-{dataset.time_column}",) if dataset.time_column else dataset.key[:1]),
        status="published",
    )


def _breakdown(dataset: Dataset, by: Field, dimensions: DimensionNames, ids: Ids) -> Scene:
    metrics = [it for it in dataset.fields if it.role == "metric"]
    called = _called(by)
    zh, en = called.said_in("zh"), called.said_in("en")
    table_zh, table_en = dataset.title.said_in("zh"), dataset.title.said_in("en")
    return Scene(
        scene_id=ids.make(f"{dataset.api_no}_BY_{dimensions.of(called)}", otherwise="SCENE").upper(),
        title=Words(zh=_zh("按", zh, "看", table_zh), en=f"{table_en} by {en}"),
        api_no=dataset.api_no,
        purpose=Words(
            zh=_zh("按", zh, "统计", table_zh, f"：{_measured(metrics, 'zh')}"),
            en=f"Compare {table_en} by {en}: {_measured(metrics, 'en')}",
        ),
        dimensions=(dimensions.of(called),),
        grain=(by.name,),
        parameters=_parameters(dataset, by.name),
        metrics=tuple(it.name for it in metrics),
        fields=SceneFields(default=(by.name, ROW_COUNT, *(it.name for it in metrics[: _SHOWN - 2]))),
        suggested=Suggestion(order_by=(by.name if by.temporal else f"-{metrics[0].name if metrics else ROW_COUNT}",)),
        status="published",
    )


def _parameters(dataset: Dataset, *first: str) -> tuple[Parameter, ...]:
    """Filters that a question may well name: the time, then years and what has listed values."""
    years = [it.name for it in dataset.fields if is_year(it)]
    listed = [it.name for it in dataset.fields if it.values or it.type == "boolean"]
    names = _present([dataset.time_column, *years, *first, *listed])
    return tuple(Parameter(name=name) for name in names[:_FILTERS])


def _shown(dataset: Dataset) -> tuple[str, ...]:
    """What a row is best known by: when, which, some dimensions, the metrics. What is sensitive must be asked for."""
    dimensions = [it.name for it in dataset.fields if it.role == "dimension"]
    metrics = [it.name for it in dataset.fields if it.role == "metric"]
    leading = [*dataset.key, *dimensions[: _SHOWN // 2], *metrics, *dimensions]
    names = _present([dataset.time_column, *leading])
    harmless = tuple(name for name in names if "sensitive" not in dataset.by_name[name].flags)
    return harmless[:_SHOWN] or dataset.key


def _present(names: Sequence[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name is not None))


def _called(it: Field) -> Words:
    """What the field is called: its text where that is short, otherwise its name."""
    if all(len(text) <= _LONGEST_NAME for text in it.about.every()):
        return it.about
    return Words(**{language_of(it.name): it.name})


def _listed(fields: Sequence[Field], language: Language) -> str:
    return ("、" if language == "zh" else ", ").join(_called(it).said_in(language) for it in fields[:_NAMED])


def _measured(metrics: Sequence[Field], language: Language) -> str:
    """'number of rows, total amount, average price'."""
    told = [(_MEASURED[it.aggregation or "sum"], _called(it).said_in(language)) for it in metrics[:_NAMED]]
    if language == "zh":
        return "、".join(["条数", *(_zh(before, name, after) for ((before, after), _), name in told)])
    return ", ".join(["number of rows", *(f"{en} {name}" for (_, en), name in told)])


def _zh(*parts: str) -> str:
    """The parts as one Chinese text, with a space between a Chinese character and Latin letters."""
    text = ""
    for part in filter(None, parts):
        text += " " * bool(text and _SEAM.fullmatch(text[-1] + part[0])) + part
    return text
