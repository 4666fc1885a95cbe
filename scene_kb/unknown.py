"""Codes that a text gives as a field's values and that are none: the F of 渠道F where channels are A to E.

Conservative: a false alarm costs more than a miss, for whoever asks is told that what they said does not exist.
"""

import re
from collections.abc import Sequence

from engine.dataset import Field, LegalValue
from engine.folding import fold
from scene_kb.named import ENDS_JOINED, REACH, Labels, Text, labels_of
from scene_kb.text import STOP_WORDS, has_han

_LONGEST_CODE = 3
_WORD = re.compile(rf"(?<![a-z0-9_.&-])[a-z0-9]{{1,{_LONGEST_CODE}}}(?![a-z0-9_&]|[-.][a-z0-9])")
# Abbreviations that stand beside any field's name and are no value of it.
_NO_VALUES = STOP_WORDS | frozenset(
    """
    id ids no nos vs top pk uv pv pc tv ip os qa ab kpi roi cpa cpc cpm ctr cvr ltv gmv dau mau arpu sum avg max min
    cnt yoy mom wow dod ytd mtd qtd q1 q2 q3 q4 h1 h2 h5 am pm api sql csv url usd cny rmb eta etd day new old app web
    mon tue wed thu fri sat sun jan feb mar apr may jun jul aug sep oct nov dec
    """.split()  # noqa: SIM905  # a list of one word a line hides what is missing
)
_PART_OF_A_WORD = re.compile(r"[端站股歌恤币盘光图轮座级型类线码口个次号]|\s*(?:%|:\s*\d)")  # B端, T恤, K歌, N个
_BIG = re.compile(r"[大小]$")  # 大V渠道


def unknown_codes(text: Text, field: Field, legal: Sequence[LegalValue]) -> list[str]:
    """Codes like the field's own, written as such beside its name, that are none of its values: 渠道F, carrier XX.

    Only what cannot well be a word counts: capitals, or one small letter at a Han name, and no abbreviation that stands
    beside every field (ID, TOP, ROI). In a row with a value a capital code counts too: the F of 渠道A和F.
    """
    names = {fold(name) for value in legal for name in value.names()}
    lengths = {len(name) for name in names if len(name) <= _LONGEST_CODE and name.isascii() and name.isalnum()}
    if not lengths:
        return []
    labels = labels_of(field.names())
    # In capitals throughout, every word looks like a code.
    shouted = not has_han(text.written) and not any(letter.islower() for letter in text.written)
    found: dict[str, None] = {}
    for code in _WORD.finditer(text.folded):
        written = text.written[code.start() : code.end()]
        if len(code[0]) not in lengths or code[0] in names or code[0] in _NO_VALUES or code[0].isdigit():
            continue
        before = labels.before.search(text.folded, max(0, code.start() - REACH), code.start())
        behind = labels.han_behind.match(text.folded, code.end())
        if behind is not None and behind[0][0] == " ":  # FCR 哪个组最差
            behind = None
        if behind is not None and f"{code[0]}{behind[0]}" in names:
            continue
        at_han = (before is not None and not before[0][-1].isascii()) or behind is not None
        if _PART_OF_A_WORD.match(text.folded, code.end()) or _BIG.search(
            text.folded, max(0, code.start() - 1), code.start()
        ):
            continue
        if at_han and (written.isupper() or len(written) == 1):
            found[written.upper()] = None
        elif written.isupper() and not shouted and (before is not None or _in_a_known_row(text, code, names, labels)):
            found[written] = None
    return list(found)


def _in_a_known_row(text: Text, code: re.Match[str], names: set[str], labels: Labels) -> bool:
    """Whether the value before it in an enumeration stands beside the field's name."""
    joined = ENDS_JOINED.search(text.folded, max(0, code.start() - REACH), code.start())
    before = None if joined is None else re.search(r"[a-z0-9]+$", text.folded[: joined.start()])
    if before is None or before[0] not in names:
        return False
    return labels.before.search(text.folded, max(0, before.start() - REACH), before.start()) is not None
