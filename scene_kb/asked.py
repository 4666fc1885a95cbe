"""A query as retrieval reads it: the words that ask, the words that it excludes, and the text worth embedding."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from engine.folding import fold, tidy
from engine.times.spans import ImpossibleDate, around, spans_in
from scene_kb.text import HAN, tokens

LONGEST = 2000
"""Characters of a query that are read: more than any task needs, and a bound on what one call can cost."""

# Directives about what to look at. Conditions on rows (没有进球的球员, players who have not scored) stay in the
# question: their fields are needed to answer it.
_ZH = (
    r"(?:别看|不看|不要看|不用看|别管|不管|别给我|不要|不包括|不包含|不含|不算|排除|剔除|去掉|除去|忽略"
    r"|不是(?=[^的]{1,12}[,，;；、]?而?是))"
)
_EN = (
    r"\b(?:excluding|exclude|ignoring|ignore|leaving out|leave out|rather than|instead of)\b"
    # A bare "not" is a directive where it opens a clause: "spend, not refunds".
    r"|(?:(?<=[,;(\-] )|(?<=[,;(\-])|^|(?<=\band )|(?<=\bbut ))(?:not|no need for)\b"
)
_EXCLUSION = re.compile(
    rf"{_ZH}(?P<zh>[{HAN}A-Za-z0-9_ ]{{1,16}}?)(?=的|$|[^\w ]|但|而|只|就)"
    rf"|(?:{_EN})(?P<en>[^,.;!?()]{{1,60}}?)(?=$|[,.;!?()]|\bbut\b|\bonly\b)",
    re.IGNORECASE,
)
_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)
_RANKS = frozenset(
    tokens(
        """
        top bottom first last most least best worst highest lowest largest smallest biggest fewest greatest
        maximum max minimum min average averages averaged mean median total totals sum overall number count
        最大 最小 最高 最低 最多 最少 最好 最差 前 后 倒数 平均 均值 总计 合计 总和 总数 总量 数量 个数 次数
        """
    )
)
_VIEWS = frozenset(
    tokens(
        """
        percent percentage share ratio rank ranking ranked sort sorted descending ascending compare
        compared comparison versus trend change per
        比例 百分比 排名 排行 排行榜 排序 降序 升序 对比 相比 比较 趋势 变化 情况 分析 数据 明细 列表
        """
    )
)
_AFTER_NOT = re.compile(r"^\s*(?:the|any|about|looking at|interested in)?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """One query, read."""

    text: str
    """Folded, without what it excludes: the key of its vector, and what is embedded."""
    tokens: tuple[str, ...]
    """Each once, in order of first appearance."""
    excluded: frozenset[str]
    """Tokens that must not score for a scene or field."""
    row_words: frozenset[str]
    """Tokens that choose or reduce rows: times, numbers, ranks, kinds of total. They mean nothing else unless a field
    is called so.
    """
    view_words: frozenset[str]
    """Tokens that say how rows are looked at. A scene may be made for it; that none is says nothing against them."""


def read(query: str) -> Asked:
    """Never fails: an empty or wordless query has no tokens."""
    tidied = tidy(query[:LONGEST])
    excluded: set[str] = set()

    def take_out(found: re.Match[str]) -> str:
        said = found["zh"] or _AFTER_NOT.sub("", found["en"] or "", count=1)
        excluded.update(tokens(said))
        return " "

    kept = _EXCLUSION.sub(take_out, tidied)
    # A time is read by itself, so that no pair of characters reaches across its end.
    rest, times = _parted(kept)
    said_of_time = tokens(times)
    wanted = tuple(dict.fromkeys((*(tokens(rest) if rest.strip() else ()), *said_of_time)))
    return Asked(
        text=fold(kept),
        tokens=tuple(token for token in wanted if token not in excluded),
        excluded=frozenset(excluded - set(wanted)),
        row_words=frozenset(it for it in wanted if it in said_of_time or it in _RANKS or it.isdigit()),
        view_words=_VIEWS.intersection(wanted),
    )


def _parted(text: str) -> tuple[str, str]:
    """The text without its time expressions, and these."""
    try:
        spans = spans_in(text, now=_ANY_TIME, zone=ZoneInfo("UTC"), week_start="monday")
    except ImpossibleDate:  # 2月30日: recognition tells the caller; here it is only no meaning
        return text, ""
    return " ".join(around(text, spans)), " ".join(span.text for span in spans)
