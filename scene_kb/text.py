"""From a text to the tokens that retrieval compares: folded, cut into words, stemmed, in Chinese and English.

Knows no scene and no index. What a query asks for and what it excludes is told apart in `asked.py`.
"""

import logging
import re
import threading
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Protocol, cast

from engine.folding import tidy

HAN = r"㐀-䶿一-鿿豈-﫿\U00020000-\U0003ffff"

_HAN_RUN = re.compile(f"[{HAN}]+")
_PIECES = re.compile(f"[{HAN}]+|[^\\W_{HAN}]+(?:['’][^\\W_{HAN}]+)?")
_LATIN_WORD = re.compile(r"[A-Za-z]{2}")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\dA-Za-z_]+")
_HUMPS_OF_A_CODE = 5
"""Letters and digits that alternate so often (9f8a7c6b) are one code, whose splinters would meet anything."""

# Words that frame a question rather than say what it is about. Kept by hand: a longer list, such as scikit-learn's,
# also drops words that name fields ("name", "system", "amount", "part").
STOP_WORDS = frozenset(
    """
    a about above after again all along also am among an and any are as at be been being both but by can compute
    could did display do does doing each either every find for from get give given had has have having he her
    here hers him his how i if in into is it its itself just let list listed many me more most much my no nor
    not of off on once only or other our out over own please provide retrieve return s same see she should show
    so some such t tell than that the their them then there these they this those through to too under until up
    us very want was we were what when where which while who whom whose why will with without would you your
    belong belonging whichever whether
    的 了 和 与 或 及其 以及 在 是 有 为 中 对 按 把 被 从 到 由 于 及 等 个 各 每 某 哪 哪些 哪个 哪里
    哪几 什么 多少 几 几个 怎么 怎样 如何 谁 请 请问 给 给出 列出 查询 查 查看 看 看看 看一下 一下 显示 返回
    找出 找到 求 统计 计算 告诉 我 我们 你 他 她 它 他们 她们 想 要 想要 知道 吗 呢 吧 啊 呀 嘛 一 一个 这
    这些 那 那些 其 其中 所有 全部 都 也 还 又 就 并 并且 以及 而 但 且 则 只 再 而是 很 最 更 是否 没有 没
    不 不是 他的 其他 分别 以 之 所 将 会 能 可以 需要 帮 帮我 叫 属于 里 里面 上 下 过 着 得 地 来 去 使
    用 下面 以上 以下 之间 按照 根据 一共 总共 有没有 哪位 几位 几种 那个 这个 每个 各个 各自 出 位 名
    写 拉 整理 说说 讲讲 一首 一份 一张
    """.split()  # noqa: SIM905  # a list of one word a line hides what is missing
)


def tokens(text: str) -> tuple[str, ...]:
    """The text's tokens in order: English stems, Chinese words and character pairs; stop words are left out.

    A pair is marked by a leading `:`, so that rarity is counted for words and pairs apart. Identifiers are cut at case,
    digits and underscores. A text of stop words alone keeps them, because a one-word query must still find something.
    """
    every = tuple(_tokens(tidy(text)))
    told = tuple(token for token in every if token not in STOP_WORDS)
    return tuple(stem(token) for token in (told or every))


def has_han(text: str) -> bool:
    return _HAN_RUN.search(text) is not None


def language_of(token: str) -> str:
    """zh, en, or nothing for a number."""
    return "zh" if has_han(token) else "en" if has_latin(token) else ""


def has_latin(text: str) -> bool:
    """Whether a word of two letters or more stands in it."""
    return _LATIN_WORD.search(text) is not None


def pairs(run: str) -> Iterator[str]:
    """The character pairs of a run of Chinese characters."""
    return (f":{run[at : at + 2]}" for at in range(len(run) - 1))


def is_pair(token: str) -> bool:
    return token.startswith(":")


def _tokens(tidied: str) -> Iterator[str]:
    for piece in _PIECES.findall(tidied):
        if has_han(piece):
            yield from _chinese(piece)
        else:
            yield from _latin(piece)


def words_of_run(run: str) -> tuple[str, ...]:
    """The words of a run of Chinese characters, all of them."""
    return tuple(_segmenter().cut(run))


def _chinese(run: str) -> Iterator[str]:
    words = words_of_run(run)
    yield from words
    # A pair across a function word ("员的") says nothing, and a pair that is itself a word would count twice.
    seen = set(words)
    for stretch in _told_stretches(words):
        yield from (pair for pair in pairs(stretch) if pair[1:] not in seen)


def _told_stretches(words: Iterable[str]) -> Iterator[str]:
    stretch = ""
    for word in words:
        if word in STOP_WORDS:
            yield stretch
            stretch = ""
        else:
            stretch += word
    yield stretch


def _latin(piece: str) -> Iterator[str]:
    piece = piece.replace("’", "'").removesuffix("'s")
    humps = _HUMPS.findall(piece)
    if len(humps) >= _HUMPS_OF_A_CODE and any(hump.isdigit() for hump in humps):
        humps = [piece]
    for hump in humps:
        yield hump.casefold()


class _Segmenter(Protocol):
    def cut(self, sentence: str) -> Iterable[str]: ...


_loading = threading.Lock()


def _segmenter() -> _Segmenter:
    with _loading:
        return _load_segmenter()


@lru_cache(maxsize=1)
def _load_segmenter() -> _Segmenter:
    import jieba

    jieba.setLogLevel(logging.CRITICAL)  # it reports on stderr where it caches its word list
    segmenter = jieba.Tokenizer()
    segmenter.initialize()
    return cast(_Segmenter, segmenter)


_stemmers = threading.local()


@lru_cache(maxsize=65536)
def stem(token: str) -> str:
    if not token.isascii() or not token.isalpha():
        return token
    if not hasattr(_stemmers, "english"):  # a PyStemmer object serves one thread
        import Stemmer

        _stemmers.english = Stemmer.Stemmer("english")
    return cast(str, _stemmers.english.stemWord(token))
