"""What kind of value a query speaks of: times, numbers. Words only, in Chinese and English."""

import re

_TIME = re.compile(
    r"\b(?:when|date|day|days|month|months|year|years|week|quarter|yesterday|today|latest|recent|earliest|oldest|newest"
    r"|since|before|after|during|between|january|february|march|april|may|june|july|august|september|october|november"
    r"|december|born|birthday|age|(?:19|20)\d\d)\b"
    r"|[年月日周天季]|昨|今|最近|最新|最早|日期|时间|时候|何时|以前|之前|之后|以来|期间|出生"
)
_NUMBER = re.compile(
    r"\b(?:average|mean|total|sum|maximum|minimum|max|min|highest|lowest|most|least|more|less|greater|smaller|larger|largest"
    r"|smallest|above|below|over|under|exceed|percentage|ratio|rate|difference|how much|top)\b"
    r"|平均|总|最高|最低|最大|最小|最多|最少|超过|大于|小于|高于|低于|不少于|不低于|以上|以下|占比|比例|率|差|多少"
)

_COUNT = re.compile(
    r"\bhow many\b|\bnumber of\b|\bcount of\b"
    r"|(?:多少|几)(?:个|条|笔|单|次|人|件|趟|行|家|张)|数量|条数|笔数|次数|单数|单量"
)


def asks_time(text: str) -> bool:
    return _TIME.search(text) is not None


def asks_number(text: str) -> bool:
    return _NUMBER.search(text) is not None


def asks_count(text: str) -> bool:
    """Whether it asks how many there are of something."""
    return _COUNT.search(text) is not None
