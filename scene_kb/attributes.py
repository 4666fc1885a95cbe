"""Words that ask for an attribute without naming it: the tallest asks for a height, a woman for a sex.

Everyday words alone, none of a trade: what a field of one catalog is called otherwise belongs in its synonyms.
"""

from collections.abc import Mapping
from functools import cache

from scene_kb.text import stem

_ASKED_BY = """
male female man men woman women boy boys girl girls: gender sex
old older oldest young younger youngest aged: age birth birthday
born: birth birthday birthdate dob
died dead: death
tall taller tallest shorter shortest: height
heavy heavier heaviest lightest: weight
long longer longest lasted: length duration
high: height elevation
far farther: distance
fast faster fastest slow slower slowest: speed
cheap cheaper cheapest expensive priced pay paid: price cost amount
earn earns earning earned wage paid: salary income
big bigger biggest large larger largest small smaller smallest: size area
hot hotter hottest cold colder coldest warm: temperature
located live lives living reside resides residing based situated: address location city country place
citizen citizens citizenship: country nationality
spouse wife husband married: marital
call: phone telephone
hired joined employed: hire
recently recent latest newest earliest early late: date time year
popular famous liked: popularity rating likes
scored: score points
graduated graduate graduates: degree graduation
inhabitants residents resident people: population person
teacher professor instructor: teacher instructor faculty professor
film films movie movies: film movie
firm business: company
job occupation profession career: job occupation title
buyer buyers bought purchaser purchased: customer purchase order
sold: sale order
男 女 男性 女性 男生 女生: 性别
多大 岁 年纪 年轻 年长 岁数: 年龄 出生
生日 生于: 出生
多高 个子 高个: 身高 高度
多重: 体重 重量
多长 多久: 时长 长度
多远: 距离
多快: 速度
便宜 贵 花费 多少钱 价钱: 价格 金额 费用
哪儿 住 住在 位于: 地址 城市 地点
工资 挣: 薪资 薪水 收入
"""


@cache
def attributes() -> Mapping[str, tuple[str, ...]]:
    """Token -> the tokens of what it asks for."""
    asked: dict[str, dict[str, None]] = {}
    for line in _ASKED_BY.strip().splitlines():
        words, named = line.split(":")
        for word in map(stem, words.split()):
            asked.setdefault(word, {}).update((it, None) for it in map(stem, named.split()) if it != word)
    return {word: tuple(own) for word, own in asked.items()}
