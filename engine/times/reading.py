"""From folded text to readings: find the pieces by the tables of rules, then put them together.

    昨天 · 3点                pieces, as the tables find them
    去年 + 11月               a phrase: a piece that narrows the one before it, or in English also the one behind it
    phrase 到 phrase          a range, whose ends complete each other: 11月1日到5日, 昨天下午3点到5点
    自 … 以来                 up to today, or to now

A one-sided bound (before Friday, 截至昨天), a negation (不是昨天, except Friday) and a repetition (every Monday) are no
spans: left out, and with it what a list adds to it (除了昨天和前天).
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from engine.times.chinese import ZH
from engine.times.digits import DIGITS
from engine.times.english import EN
from engine.times.fiscal import FISCAL, FISCAL_SIGN
from engine.times.parts import (
    Anchor,
    Days,
    Part,
    Piece,
    Placed,
    Rule,
    SameAgo,
    TimeOfDay,
    Unplaced,
    in_fiscal_year,
)
from engine.times.placing import Phrase, Said, before_subject, meaning_of, said_by, until_now

_HAN = re.compile(r"[㐀-鿿]")
_LATIN = re.compile(r"[a-z]")

# What stands between two pieces of one phrase, between the ends of a range, between members of a list. No two runs of
# white space follow each other in a pattern: the time that a long one takes would be quadratic.
_GLUE = re.compile(r"\s*(?:(?:的|那天|当天|当日|这天|t|of|in|on|at|from|between)\s*)?(?:the\s+)?")
_RANGE = re.compile(r"\s*(?:(?:一直)?到|至|~|-{1,2}|–|—+|-?>|→|\.{2,3}|…+|to|through|thru|until|till)\s*(?:the\s+)?")
_LIST = re.compile(
    r"\s*(?:和|与|跟|同|以?及|或|、|,|;|/|&|对比|比|vs\.?|versus|and|or|against|with|compared (?:to|with))"
    r"\s*(?:and\s+)?(?:the\s+)?"
)
_ADDED = re.compile(r"\s*(?:和|与|跟|以?及|或|、|/|&|and|or)\s*(?:the\s+)?")
_AND = re.compile(r"\s*(?:和|与|跟|同|以?及|&|and)\s*(?:the\s+)?")
_INTERVAL = re.compile(r"[\dz]/\d{4}")  # ISO 8601 parts the ends of an interval by a slash
# Whoever asks what lies between two days means a range; whoever asks for their difference means two days.
_BETWEEN = re.compile(r"(?<!difference )(?<!compare )(?<!comparison )(?<!change )(?<!gap )\bbetween ")
_IN_BETWEEN = re.compile(r"\s*之?间(?!隔|的?(?:差|对比|变化|比较|波动))")

_BEFORE = re.compile(
    r"(?:(?P<since>自从|自|\bsince|\bstarting(?: from| on)?)|(?P<origin>从|\bfrom|\bbetween))\s*(?:the )?$"
)
_AFTER = re.compile(
    r"\s*(?:(?:起|开始)\s*)?(?P<now>以来|至今|[到至]现在|到目前|\bto date\b|\bso far\b|\b(?:until|till|up to|to) now\b)"
    r"|\s*(?P<on>起(?=$|[的,。、;\s])|\bonwards?\b)"
    r"|\s*(?:起|开始)"  # only behind 从: 昨天开始投放 tells when something began
)
_LEFT_OUT_BEFORE = re.compile(
    r"(?:每[年月周季天个逢]?|逐|截[至止]到?|直到|\b(?:every|each|until|till|before|after|by|up to) (?:the )?)\s*$"
)
_LEFT_OUT_AFTER = re.compile(r"\s*(?:[之以][前后]|为止|[前后](?=$|[的,。;!?\s])|\bor (?:before|after|earlier|later)\b)")
_EXCLUDED_BEFORE = re.compile(
    r"(?:除[了去开]?|不含|不包括|不包含|不算|不计|[排剔]除|去掉|忽略|非|不在"
    r"|(?:别|不|不要|不用)(?:看|管|查|要|给我)|不要|(?<!是)不是|并非"
    r"|(?:\b(?:except|except for|excluding|exclude|not|without|other than|rather than|instead of|apart from|aside from"
    r"|besides|ignoring|ignore|skip|no)|n't) (?:(?:on|in|from|for|of|during|at) )?(?:the )?)\s*$"
)
_EXCLUDED_AFTER = re.compile(
    r"\s*(?:[之以]外|除外|(?:不算|不计|不要|不看|不含)(?=$|[,。;!?\s])|\b(?:aside|excluded|excepted|not included)\b)"
)
_LOOK_BACK = 24  # characters before a phrase in which what governs it can stand


@dataclass(frozen=True)
class Reading:
    """What a stretch of the folded text means."""

    meaning: Placed
    start: int
    end: int


class Impossible(ValueError):
    """A stretch of the folded text names what no calendar or clock has."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(start, end)
        self.start, self.end = start, end


def readings(text: str, anchor: Anchor) -> tuple[Reading, ...]:
    """The readings of a folded text, in order; no two overlap. Raises Impossible."""
    phrases = _phrases(text, anchor)
    found: list[tuple[Placed | SameAgo, int, int]] = []
    said: Said | None = None
    position, left_out_until = 0, -1
    while position < len(phrases):
        ends = phrases[position : position + (2 if _is_range(text, phrases[position : position + 2]) else 1)]
        position += len(ends)
        start, end, runs_on = _frame(text, ends)
        added = left_out_until >= 0 and _ADDED.fullmatch(text, left_out_until, start) is not None
        if added or _left_out(text, start, end):
            said, left_out_until = None, end
            continue
        if not found or not _LIST.fullmatch(text, found[-1][2], start):
            said = None
        with _possible(start, end):
            meaning = meaning_of(ends, said, anchor)
            if meaning is None:
                continue
            if not isinstance(meaning, SameAgo):
                said = said_by(ends, meaning, said)
                meaning = until_now(meaning, anchor) if runs_on else meaning
        found.append((meaning, start, end))
    return _with_references(found, anchor)


def _with_references(found: Sequence[tuple[Placed | SameAgo, int, int]], anchor: Anchor) -> tuple[Reading, ...]:
    """去年同期 and 前一周 refer to what the sentence is about: its first other expression, wherever that stands."""
    subject = next((meaning for meaning, _, _ in found if not isinstance(meaning, SameAgo)), None)
    result: list[Reading] = []
    for meaning, start, end in found:
        with _possible(start, end):
            placed = before_subject(meaning, subject, anchor) if isinstance(meaning, SameAgo) else meaning
        if placed is not None:
            result.append(Reading(placed, start, end))
    return tuple(result)


@contextmanager
def _possible(start: int, end: int) -> Iterator[None]:
    try:
        yield
    except (ValueError, OverflowError) as error:
        raise Impossible(start, end) from error


# ------------------------------------------------------------------------------------------------ pieces and phrases


def _pieces(text: str, anchor: Anchor) -> Iterator[Phrase]:
    """Each piece as a phrase of its own. Of two that overlap the one that begins first counts, then the longer one."""
    fiscal = FISCAL if FISCAL_SIGN.search(text) else ()
    rules: list[Rule] = [*fiscal, *DIGITS, *(ZH if _HAN.search(text) else ()), *(EN if _LATIN.search(text) else ())]
    matches = [
        (match.start(), -match.end(), order, match)
        for order, rule in enumerate(rules)
        for match in rule.pattern.finditer(text)
    ]
    behind = 0
    for start, minus_end, order, match in sorted(matches, key=lambda candidate: candidate[:3]):
        if start < behind:
            continue
        with _possible(start, -minus_end):
            piece = rules[order].read(match, anchor)
        if piece is not None:
            behind = -minus_end
            yield Phrase((piece,), start, behind, fiscal=order < len(fiscal))


def _phrases(text: str, anchor: Anchor) -> list[Phrase]:
    phrases: list[Phrase] = []
    for phrase in _pieces(text, anchor):
        if phrases and _GLUE.fullmatch(text, phrases[-1].end, phrase.start):
            last = phrases[-1]
            fiscal = last.fiscal or phrase.fiscal
            if _narrows(phrase.head, last.pieces[-1]):
                pieces = (*last.pieces, _part_of(last.pieces[-1], phrase.head))
                phrases[-1] = Phrase(pieces, last.start, phrase.end, fiscal)
                continue
            if _narrows(last.head, phrase.head):
                pieces = (phrase.head, _part_of(phrase.head, last.head), *last.pieces[1:])
                phrases[-1] = Phrase(pieces, last.start, phrase.end, fiscal)
                continue
        phrases.append(phrase)
    return _in_one_calendar(phrases)


def _narrows(piece: Piece, whole: Piece) -> bool:
    if isinstance(piece, TimeOfDay):
        return isinstance(whole, Days | Part) and whole.unit == "day"
    if isinstance(whole, Unplaced) or (isinstance(whole, Days) and whole.unit == "fiscalYear"):
        return isinstance(piece, Part) and piece.of in ("year", "fiscalYear")
    return isinstance(whole, Days | Part) and isinstance(piece, Part) and piece.of == whole.unit


def _part_of(whole: Piece, piece: Piece) -> Piece:
    fiscal = isinstance(whole, Days) and whole.unit == "fiscalYear"
    return in_fiscal_year(piece) if fiscal and isinstance(piece, Part) and piece.of == "year" else piece


def _in_one_calendar(phrases: list[Phrase]) -> list[Phrase]:
    """Whoever speaks of a fiscal year means its quarters and halves wherever they stand alone: FY26 Q1 to Q3."""
    if not any(phrase.fiscal for phrase in phrases):
        return phrases
    unplaced = any(isinstance(phrase.head, Unplaced) for phrase in phrases)
    return [
        replace(phrase, pieces=(Unplaced() if unplaced else in_fiscal_year(phrase.head), *phrase.pieces[1:]))
        if isinstance(phrase.head, Part) and phrase.head.of == "year" and phrase.head.unit in ("quarter", "half")
        else phrase
        for phrase in phrases
    ]


# ---------------------------------------------------------------------------------------------- what surrounds them


def _is_range(text: str, phrases: Sequence[Phrase]) -> bool:
    if len(phrases) < 2 or any(isinstance(phrase.head, SameAgo) for phrase in phrases):
        return False
    first, second = phrases
    if _RANGE.fullmatch(text, first.end, second.start):
        return True
    if not _LIST.fullmatch(text, first.end, second.start):
        return False
    if _INTERVAL.fullmatch(text, first.end - 1, second.start + 4):
        return True
    between = _BETWEEN.search(text, max(0, first.start - _LOOK_BACK), first.end) or _IN_BETWEEN.match(text, second.end)
    return between is not None and _AND.fullmatch(text, first.end, second.start) is not None


def _frame(text: str, phrases: Sequence[Phrase]) -> tuple[int, int, bool]:
    """Where the expression begins and ends with the words that belong to it, and whether it runs on to the present."""
    start, end = phrases[0].start, phrases[-1].end
    before = _BEFORE.search(text, max(0, start - _LOOK_BACK), start)
    if len(phrases) == 2:
        return (before.start() if before else start), end, False
    after = _AFTER.match(text, end)
    from_then_on = before is not None and after is not None  # 从昨天开始; alone, 从 and 开始 say less
    if not (before and before["since"]) and not (after and (after["now"] or after["on"])) and not from_then_on:
        return start, end, False
    return (before.start() if before else start), (after.end() if after else end), True


def _left_out(text: str, start: int, end: int) -> bool:
    before = max(0, start - _LOOK_BACK)
    return any(pattern.search(text, before, start) for pattern in (_LEFT_OUT_BEFORE, _EXCLUDED_BEFORE)) or any(
        pattern.match(text, end) for pattern in (_LEFT_OUT_AFTER, _EXCLUDED_AFTER)
    )
