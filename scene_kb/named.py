"""Which legal values of a field a text names, and which of them it excludes: 渠道A和B, except JFK, 除了渠道A以外.

A short code (A, UA) is a word like any other until something beside it makes a value of it: the field's name, another
value in a row with it, an exclusion. Longer names are values wherever they stand.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from engine.dataset import Field, LegalValue
from engine.folding import fold, tidy
from scene_kb.asked import LONGEST
from scene_kb.text import STOP_WORDS

SHORT = 2
"""Characters of an ASCII name that means something only beside its field's name, or written exactly."""

REACH = 48  # characters around a name in which what governs it can stand
_CODE = re.compile(r"(?<![a-z0-9_])[a-z0-9]{1,2}(?![a-z0-9_])")
# What stands between the members of an enumeration, and between the ends of a range.
_AND = (
    r"(?:\s*[、/&]\s*|\s*,\s*(?:(?:and|or)\s+|[和与及或])?|\s*(?:以及|及其|及|和|与|跟|同|或者|或|还有)\s*"
    r"|\s+(?:and|or)\s+)"
)
_TO = r"(?:\s*(?:到|至|~|-|–)\s*|\s+(?:to|through)\s+)"
_JOINED = re.compile(_AND)
ENDS_JOINED = re.compile(_AND + "$")
_RANGED = re.compile(_TO)
_ON_THE_WAY = re.compile(r"(?:从|由|自|\bfrom|\bbetween)\s*(?:the\s+)?$")
# 渠道3月 is a month and 渠道1个 a count: a code of digits needs an end of its own.
_GOES_ON = re.compile(
    r"\s*(?:[年月日号点时天周季个条款家名次位成万%:]|[.-]\d|(?:day|week|month|year|hour|top|most)s?\b)"
)

_ZH_EXCLUDING = (
    r"(?<![解删清免移破消根废])除(?!以|非)[了去开]?|(?<!除)非|(?<!是)不是|并非|不(?=在|从|走|来自|属于)|未被?|没有?被|没(?!有)"
    r"|不(?:包括|包含|含|算|计|要|看|管|用看|要看)|别(?:看|管|算|要|给我)|忽略|[排剔去扣刨撇]除|去掉|撇开|抛开|刨去|避开"
)
_EN_EXCLUDING = (
    r"\b(?:except(?:ing)?(?: for)?|exclud(?:ing|es?)|without|with no|(?:other|rather) than|instead of"
    r"|(?:apart|aside) from|besides|leav(?:e|ing) out|ignor(?:e|ing)|omit(?:ting)?|skip(?:ping)?"
    r"|(?:all|any\w*|every\w*)(?: \w+)? but)\b"
)
_EN_NOT = r"(?:\b(?:not|never)|n't)(?: (?:includ(?:e|ing)|show|count|counting|use|want|need))?\b|\bnon(?:-| )"
_GENERIC = r"(?:flights?|ads?|rows?|data|records?|spend|cost|orders?|ones?|traffic|everything|anything|that|those)"
_PREPOSITIONS = r"(?:(?:the|any|all|of|from|to|in|on|at|for|via|by|with)\s+)"
_ZH_FILLER = r"(?:[昨今前]天|[上本]周|[上本]月|所有|全部|[这那]个|来自|属于|从|在|走|通过|的|旧|老|新|[\s:\"“「])"
_EXCLUDED_AFTER = re.compile(
    r"\s*(?:[之以]外|除外|(?:不算|不计|不要|不看|别看|别算|[排剔去]除|去掉)(?=$|[,.。;!?了掉后\s]|在外)"
    r"|\b(?:excluded|excepted|not included|left out)\b|\b(?:aside|apart)\b(?! from))"
)
_TAKEN = re.compile(r"[把将](?:[那这]个|所有|全部|\s)*$")  # 把 paused 的计划排除掉
_AWAY = re.compile(r"[^,.。;!?]{0,12}?(?:[排剔去扣刨撇]除|去掉|除外)")


@dataclass(frozen=True)
class Named:
    """What a text says about one field, in the order of its legal values. No value is in both."""

    wanted: tuple[LegalValue, ...]
    excluded: tuple[LegalValue, ...]


@dataclass(frozen=True)
class _Mention:
    start: int
    """With the field's name, where this is what makes a value of a code."""
    end: int
    value: LegalValue


@dataclass(frozen=True)
class Text:
    """A question in the two ways in which it is searched; offsets are good for both."""

    folded: str
    written: str
    """In the case in which it was written, for codes that are words in another."""


@dataclass(frozen=True)
class Labels:
    """How a field is called, as patterns over folded text."""

    before: re.Pattern[str]
    """Ends where a value may begin: 渠道, channels, channel is."""
    han_behind: re.Pattern[str]
    """Begins where a value may have ended: the 渠道 of A渠道."""
    latin_behind: re.Pattern[str]
    """The channels of A and B channels."""
    excluding: re.Pattern[str]
    """Ends where what is excluded begins: except the channels, 除了渠道."""
    anywhere: re.Pattern[str]


def text_of(query: str) -> Text:
    """The part of a query that is read, without the white space around it."""
    written = tidy(query[:LONGEST])
    folded = fold(query[:LONGEST])
    return Text(folded, written if len(written) == len(folded) else folded)


def named(text: Text, field: Field, legal: Sequence[LegalValue]) -> Named:
    """The longest name at a place wins: 渠道AB does not also name 渠道A. A name that values share means all of them."""
    if not legal:
        return Named((), ())
    labels = labels_of(field.names())
    codes = _codes(legal)
    found = _longest([*_by_name(text, legal), *_by_code(text, codes, labels)])
    found = _between_ends(text, codes, _enumerated(text, codes, found))
    out = {str(it.value.value) for it in _excluded(text.folded, found, labels)}
    said = {str(it.value.value) for it in found}
    return Named(
        tuple(value for value in legal if str(value.value) in said - out),
        tuple(value for value in legal if str(value.value) in out),
    )


@lru_cache(maxsize=1024)
def labels_of(names: tuple[str, ...]) -> Labels:
    folded = sorted({fold(name) for name in names} - {""}, key=lambda name: (-len(name), name))
    latin = "|".join(
        re.escape(name.removesuffix("y")) + ("(?:y|ies)" if name.endswith("y") else "(?:e?s)?")
        for name in folded
        if name.isascii()
    )
    han = "|".join(re.escape(name) for name in folded if not name.isascii())
    either = "|".join(it for it in (rf"(?<![a-z0-9_])(?:{latin})(?![a-z0-9_])" if latin else "", han) if it)
    # A code may follow a Latin name only behind a space or a sign, a Han name at once.
    before = "|".join(it for it in (rf"(?<![a-z0-9_])(?:{latin})" if latin else "", han) if it)
    filler = rf"(?:{_ZH_FILLER}|{either}|\s)*" if either else rf"(?:{_ZH_FILLER}|\s)*"
    english = rf"\s+{_PREPOSITIONS}{{0,3}}(?:{_GENERIC}\s+{_PREPOSITIONS}{{1,2}})?"
    excluding = (
        rf"(?:(?:{_ZH_EXCLUDING}){filler}|(?:{_EN_NOT})(?:{english}|\s*){filler}"
        rf"|(?:{_EN_EXCLUDING}){english}(?:[a-z]+\s+)?{filler})$"
    )
    return Labels(
        re.compile(rf"(?:{before})\s*(?:为|是|=|:|is\s|are\s)?\s*$"),
        re.compile(rf"\s?(?:{han})" if han else r"(?!)"),
        re.compile(rf"\s+(?:{latin})(?![a-z0-9_])" if latin else r"(?!)"),
        re.compile(excluding),
        re.compile(either),
    )


def _codes(legal: Sequence[LegalValue]) -> dict[str, list[tuple[str, LegalValue]]]:
    """Folded short names, each with how it is written and what it means."""
    found: dict[str, list[tuple[str, LegalValue]]] = {}
    for value in legal:
        for name in map(tidy, value.names()):
            if 0 < len(name) <= SHORT and name.isascii() and name.isalnum():
                found.setdefault(fold(name), []).append((name, value))
    return found


def _by_name(text: Text, legal: Sequence[LegalValue]) -> Iterator[_Mention]:
    for value in legal:
        for name in value.names():
            wanted = fold(name)
            if not wanted or (wanted.isascii() and len(wanted) < SHORT):
                continue
            exact = tidy(name) if wanted.isascii() and len(wanted) == SHORT else None
            if exact is not None and not name.isupper():
                continue
            for start in _places(wanted, text.folded):
                if exact is None or text.written[start : start + SHORT] == exact:
                    yield _Mention(start, start + len(wanted), value)


def _places(wanted: str, text: str) -> Iterator[int]:
    """Where it stands; what is ASCII only as a word of its own."""
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        if not wanted.isascii() or not (_in_word(text, start - 1) or _in_word(text, end)):
            yield start
        start = text.find(wanted, start + 1)


def _in_word(text: str, at: int) -> bool:
    return 0 <= at < len(text) and text[at].isascii() and (text[at].isalnum() or text[at] == "_")


def _by_code(text: Text, codes: dict[str, list[tuple[str, LegalValue]]], labels: Labels) -> Iterator[_Mention]:
    """Short codes that something beside them makes values."""
    if not codes:
        return
    said = labels.anywhere.search(text.folded) is not None
    for found in _CODE.finditer(text.folded):
        meant = codes.get(found[0])
        if meant is None:
            continue
        start, end = found.span()
        exact = any(name == text.written[start:end] for name, _ in meant)
        label = labels.before.search(text.folded, max(0, start - REACH), start)
        behind = labels.han_behind.match(text.folded, end)
        ends = not found[0].isdigit() or _GOES_ON.match(text.folded, end) is None
        if label is not None and ends:
            start = label.start()
        elif behind is not None and not found[0].isdigit():
            end = behind.end()
        elif not (exact and said and ends and _stands_alone(text.folded, start, end, codes, labels)):
            continue
        yield from (_Mention(start, end, value) for _, value in meant)


def _stands_alone(
    text: str, start: int, end: int, codes: dict[str, list[tuple[str, LegalValue]]], labels: Labels
) -> bool:
    """A and B channels; all channels except A, 除A以外的渠道."""
    joined = ENDS_JOINED.search(text, max(0, start - REACH), start)
    before = None if joined is None else _code_before(text, joined.start())
    if before is not None and before in codes and labels.latin_behind.match(text, end):
        return True
    excluded = labels.excluding.search(text, max(0, start - REACH), start) or _EXCLUDED_AFTER.match(text, end)
    return excluded is not None


def _code_before(text: str, end: int) -> str | None:
    found = re.search(r"(?<![a-z0-9_])[a-z0-9]{1,2}$", text[max(0, end - SHORT - 1) : end])
    return None if found is None else found[0]


def _longest(mentions: Iterable[_Mention]) -> list[_Mention]:
    kept: list[_Mention] = []
    for it in sorted(mentions, key=lambda it: (it.start - it.end, it.start)):
        if all(it.end <= other.start or it.start >= other.end or _same_place(it, other) for other in kept):
            kept.append(it)
    return kept


def _same_place(one: _Mention, other: _Mention) -> bool:
    return (one.start, one.end) == (other.start, other.end)


def _enumerated(
    text: Text, codes: dict[str, list[tuple[str, LegalValue]]], found: Sequence[_Mention]
) -> list[_Mention]:
    """With the codes that stand in a row with a value that is known: the B of 渠道A和B, the A of A、B渠道."""
    every, waiting = list(found), list(found)
    while waiting:
        it = waiting.pop()
        places = []
        joined = _JOINED.match(text.folded, it.end) or _RANGED.match(text.folded, it.end)
        if joined is not None and (code := _CODE.match(text.folded, joined.end())):
            places.append(code.span())
        before = ENDS_JOINED.search(text.folded, max(0, it.start - REACH), it.start)
        if before is not None and (found_code := _code_before(text.folded, before.start())):
            places.append((before.start() - len(found_code), before.start()))
        for start, end in places:
            new = [_Mention(start, end, value) for value in _meant(text, codes, start, end)]
            if new and all(end <= other.start or start >= other.end for other in every):
                every.extend(new)
                waiting.extend(new[:1])
    return every


def _meant(text: Text, codes: dict[str, list[tuple[str, LegalValue]]], start: int, end: int) -> list[LegalValue]:
    """What a code in an enumeration means; nothing where it is a word (channel B and a breakdown) or a count."""
    code = text.folded[start:end]
    if code.isdigit() and _GOES_ON.match(text.folded, end):
        return []
    word = code in STOP_WORDS
    return [value for name, value in codes.get(code, ()) if not word or name == text.written[start:end]]


def _between_ends(
    text: Text, codes: dict[str, list[tuple[str, LegalValue]]], found: Sequence[_Mention]
) -> list[_Mention]:
    """渠道A到渠道C is all three where every letter between them is a value and no way leads from one to the other."""
    by_start = {it.start: it for it in found}
    every = list(found)
    for it in found:
        joined = _RANGED.match(text.folded, it.end)
        last = None if joined is None else by_start.get(joined.end())
        if last is None or _ON_THE_WAY.search(text.folded, max(0, it.start - REACH), it.start):
            continue
        low, high = (str(end.value.value).casefold() for end in (it, last))
        if len(low) == len(high) == 1 and low.isalpha() and high.isalpha() and low < high:
            between = [chr(code) for code in range(ord(low) + 1, ord(high))]
            if all(code in codes for code in between):
                every.extend(_Mention(last.start, last.end, value) for code in between for _, value in codes[code])
    return every


def _excluded(text: str, found: Sequence[_Mention], labels: Labels) -> Iterator[_Mention]:
    """Those of a row of values before or behind which an exclusion stands."""
    row: list[_Mention] = []
    for it in sorted(found, key=lambda it: (it.start, it.end)):
        if row and not (_same_place(row[-1], it) or _in_a_row(text, row[-1], it)):
            yield from _if_excluded(text, row, labels)
            row = []
        row.append(it)
    yield from _if_excluded(text, row, labels)


def _in_a_row(text: str, one: _Mention, other: _Mention) -> bool:
    """A comma joins codes (渠道A，B) and not clauses: 不要渠道A，渠道B的消耗 still asks for B."""
    between = text[one.end : other.start]
    if _RANGED.fullmatch(between):
        return True
    comma = between.strip() == "," and other.end - other.start > SHORT and not text[other.start : other.end].isascii()
    return _JOINED.fullmatch(between) is not None and not comma


def _if_excluded(text: str, row: Sequence[_Mention], labels: Labels) -> Sequence[_Mention]:
    if not row:
        return ()
    start, end = row[0].start, max(it.end for it in row)
    near = max(0, start - REACH)
    label = labels.han_behind.match(text, end)
    out = (
        labels.excluding.search(text, near, start)
        or _EXCLUDED_AFTER.match(text, label.end() if label else end)
        or (_TAKEN.search(text, near, start) and _AWAY.match(text, end))
    )
    return row if out else ()
