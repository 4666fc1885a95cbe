"""How Chinese says when: a table of patterns over folded text (simplified, half width, lower case) and their readings.

Much of a pattern says what is *not* meant: 上周一共 is a week and a total, 今日头条 a channel, 7日留存 a metric.
"""

import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Final

from engine.numerals import number_of
from engine.times.digits import NO_PICTURE
from engine.times.parts import (
    Anchor,
    Days,
    Moments,
    Part,
    Rule,
    SameAgo,
    TimeOfDay,
    Unit,
    day_of_month,
    day_of_year,
    days_ago,
    days_between,
    days_of,
    days_of_year,
    first_months_of,
    half_of,
    half_of_month,
    month_of,
    period_of,
    quarter_of,
    relative_period,
    relative_weekday,
    relative_weekend,
    rolling_days,
    rolling_periods,
    rolling_time,
    rule,
    third_of_month,
    to_date,
    week_of_month,
    weekday_of,
    weekend_of,
)

_DAYS: Final[Mapping[str, int]] = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3}
_YEARS: Final[Mapping[str, int]] = {"大前": -3, "前": -2, "去": -1, "今": 0, "明": 1, "后": 2}
_STEPS: Final[Mapping[str, int]] = {"上上": -2, "上": -1, "本": 0, "这": 0, "下": 1, "下下": 2}
_UNITS: Final[Mapping[str, Unit]] = {
    **{"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month"},
    **{"季": "quarter", "季度": "quarter", "年": "year", "年度": "year"},
}
_LENGTHS: Final[Mapping[str, timedelta]] = {"小时": timedelta(hours=1), "分钟": timedelta(minutes=1)}
_PERIOD_ENDS: Final[Mapping[str, Unit]] = {"月": "month", "份": "month", "周": "week", "年": "year", "度": "quarter"}
_HALVES: Final[Mapping[str, tuple[Unit, int]]] = {"年": ("month", 6), "月": ("day", 15)}
_WEEKDAYS: Final = "一二三四五六日"
_THIRDS: Final[Mapping[str, int]] = {"上": 1, "初": 1, "中": 2, "下": 3, "底": 3, "末": 3}
_FIRST_OR_SECOND: Final[Mapping[str, int]] = {"上": 1, "下": 2}
_NAMED_DAYS: Final[Mapping[str, tuple[int, int]]] = {
    **{"元旦": (1, 1), "五一": (5, 1), "劳动节": (5, 1), "618": (6, 18), "国庆": (10, 1)},
    **{"双十一": (11, 11), "双11": (11, 11), "双十二": (12, 12), "双12": (12, 12), "圣诞": (12, 25)},
}
_HOLIDAYS: Final = frozenset({"五一", "劳动节", "国庆"})  # several days off: the day alone is one reading of them

# Parts of a day, from and to in hours. Conventions, so a part without a time is ambiguous.
_PARTS: Final[Mapping[str, tuple[int, int]]] = {
    **{"凌晨": (0, 6), "清晨": (5, 8), "早晨": (6, 9), "早上": (6, 9), "早": (6, 9), "晨": (6, 9), "上午": (6, 12)},
    **{"中午": (11, 13), "下午": (12, 18), "傍晚": (17, 19), "晚上": (18, 24), "晚": (18, 24), "夜": (18, 24)},
}
_NIGHT: Final = frozenset({"晚上", "晚", "夜"})
_QUARTERS: Final[Mapping[str | None, str]] = {"半": "30", "一刻": "15", "三刻": "45"}

_HAN = "零〇一二三四五六七八九十"
_N = rf"(?:\d+|[{_HAN}百千万两]+)"
_N2 = rf"(?:\d{{1,2}}|[{_HAN}]{{1,3}})"
_MONTH = r"(?:\d{1,2}|十[一二]?|[一二三四五六七八九])"
# No digit of a longer number; before 号 and 点 not the number of a thing either: 渠道3号 is no day, 渠道3月 a month.
_FREE = rf"(?<![a-z0-9_.{_HAN}第])"
_FREE_MONTH = rf"(?<![\d_.{_HAN}第])"  # 渠道A11月: a month may follow the letter of a name
_NO_THING = "".join(
    f"(?<!{thing})" for thing in ("渠道", "广告", "计划", "素材", "创意", "版本", "账户", "项目", "门店", "编号")
)
_TO = r"\s*(?:-|~|–|—|到|至)\s*"
_WEEK = r"(?:周|星期|礼拜)"
# 一下 and 看下 say "have a look": in 看下周一到周三 a Monday is meant, not the next one.
_STEP = (
    r"(?P<step>上上|(?<![以早晚])上|下下|(?<![一下])下(?!(?<=看下)(?:周[一二三四五六日天末]|月[初中底末]|一季))"
    r"|(?<![成资基样版])本|这)"
)
_WITH_TODAY = r"(?:\s*(?:[(,]\s*)?(?:(?P<today>包含|包括|算上|含)|不(?:包含|包括|算|含))(?:今[天日]|当[天日])\s*\)?)?"

# Where a numeral after 上周 counts what follows: 上周三个渠道 is last week, and three channels.
_COUNTS = (
    r"个(?!人|体|性)|条(?!件)|家(?!居|电|庭|装)|天(?!猫|气)|次(?!日)|款(?!式|项)|类(?!目|别|型)|种(?!草|子)|份(?!额)"
    r"|名(?!单|称)|位(?!置)|组(?!合|织)|项(?!目)|级|成(?!本|交|功|果)|倍|页(?!面)|大(?!促|盘|客|额|于)|线(?=城)|手(?=车|房)"
)
_ONE = r"共|直|样|般|定|致|旦|些|同|并|切|律|起(?!至|到|的|,|$)"  # words that begin with 一
_WEEKDAY = (
    rf"(?:(?P<weekday>一(?!{_ONE})|[二三四五]|六(?!福)|日(?!均|活|志|报|常|期|程|留|历))"
    r"|(?P<sunday>天)(?!气|猫|数|然|津))"
)
# What has a number of its own, so that 3号 in front of it is no day.
_NUMBERED = (
    "渠道|广告|计划|素材|创意|账户|账号|项目|店|仓|楼|线|门|机|位|桌|柜|主播|直播间|选手|产品|商品|版|员工|客户|用户|字"
)
# 直客一号 is a name: a numeral in Chinese is a day only where a word ends before it.
_NO_NAME = r"(?:(?=\d)|(?<![㐀-鿿])|(?<=[的在到至从和与月看查]))"
# 7日留存 is a metric, so a day without its month is read only where nothing that it could measure follows.
_BEHIND_A_DAY = r"(?=$|[\s的,.。;!?~\-—–]|至|到|以来|起|当天|那天|[上下中]午|[早晚]|凌晨|各|每|所有|全部|哪|按)"
# Nor behind its month where a metric of so many days follows: 本月7日留存.
_NO_WINDOW = r"(?!内|均|活|志|报|常|期(?!间)|程|留|历|累计|滚动|回[收本]|付费|复购|净利|转化|ro|ltv|arpu)"
# 10.1到10.7 are days where a task begins or what is grouped by has just been named; behind a metric they are numbers.
_BEFORE_POINTS = (
    r"(?:^|(?<=[,;:。(看查询计拉取])|(?<=[,;:。看查下] )|(?<=[看查一]下)|(?<=渠道|广告|计划|素材|项目|航班))"
)
_BEHIND_POINTS = r"(?:[日号]|(?!\s*(?:[\d.%‰/*倍元块万亿折秒个次]|(?!top)[a-z]|分(?!渠道)|人(?!均)|之间|以)))"
_AFTER_TO = "(?:" + "|".join(rf"(?<=[到至~\-–—]{space})" for space in ("", " ")) + ")"
# 11月5渠道 is a day; 11月5个渠道, 11月5.5折 and 11月5g套餐 are not.
_NO_COUNT = (
    rf"(?!\s*(?:{_COUNTS}|[单笔支批轮台辆架年月星秒元块%折亿百千万余多]|班(?!次)|期(?!间)|只(?!看)|场(?!景)|小时|周(?![环同转])|左右"
    rf"|点(?=[{_HAN}\d半到至]|$)|分(?=钟|\d)|时(?!段|间|长)|人(?![均数群])|来(?!源|自)|以[上下内]|[.:/]?\d|[a-z](?![a-z])"
    rf"|一(?!{_ONE}|日)|[零〇二三四五六七八九十]))"
)
_PART = r"(?:凌晨|清晨|早晨|早上|上午|中午|下午|傍晚|晚上|(?<=[昨今明天日])[早晚晨夜])"
_NO_HOUR = r"(?!资讯|击|位|评|赞|数(?![据量])|开(?![播始售抢放])|名|播|券)"  # 昨天一点资讯 is a channel, 点击 clicks


def _relative_day(match: re.Match[str], anchor: Anchor) -> Days:
    return days_ago(anchor, "day", -_DAYS[match["day"]])


def _relative_period(match: re.Match[str], anchor: Anchor) -> Days:
    return relative_period(anchor, _UNITS[match["unit"]], _STEPS[match["step"]])


def _relative_year(match: re.Match[str], anchor: Anchor) -> Days:
    return relative_period(anchor, "year", _YEARS[match["year"]])


def _weekday(match: re.Match[str], anchor: Anchor) -> Days | Part:
    weekday = 6 if match["sunday"] else _WEEKDAYS.index(match["weekday"])
    return weekday_of(weekday) if match["step"] is None else relative_weekday(anchor, weekday, _STEPS[match["step"]])


def _weekend(match: re.Match[str], anchor: Anchor) -> Days | Part:
    return weekend_of() if match["step"] is None else relative_weekend(anchor, _STEPS[match["step"]])


def _rolling(match: re.Match[str], anchor: Anchor) -> Days | Moments | None:
    """近7天: whole days that end yesterday, or today where that is said. Hours and minutes end now."""
    name, lead, with_today = match["unit"], match["lead"], match["today"] is not None
    sign = -1 if lead in ("未来", "接下来", "今后") else 1
    if match["count"] == "半":
        if name in _LENGTHS:
            return rolling_time(anchor, sign * _LENGTHS[name] / 2)
        if name not in _HALVES or lead == "前":  # 前半年 is no stretch that ends yesterday
            return None
        unit, count = _HALVES[name]
        return rolling_days(anchor, unit, sign * count, with_today=with_today)
    counted = number_of(match["count"])
    if not isinstance(counted, int) or counted < 1:
        return None
    if name in _LENGTHS:
        return rolling_time(anchor, sign * counted * _LENGTHS[name])
    unit = _UNITS[name]
    if match["whole"] and sign > 0:
        return rolling_periods(anchor, unit, counted)
    ambiguous = lead == "前" and unit != "day"  # 前两个月 may also mean two calendar months
    return rolling_days(anchor, unit, sign * counted, with_today=with_today, ambiguous=ambiguous)


def _ago(match: re.Match[str], anchor: Anchor) -> Days | None:
    if match["half"]:
        return days_ago(anchor, *_HALVES[match["half"]])
    count = number_of(match["count"])
    return (
        days_ago(anchor, _UNITS[match["unit"].removeprefix("个")], count) if isinstance(count, int) and count else None
    )


def _year(match: re.Match[str], anchor: Anchor) -> Days:
    year = _number(match["year"]) if match["year"] else 2000 + _number(match["short"])
    return period_of(date(year, 1, 1), "year", anchor.week_start)


def _month(match: re.Match[str], anchor: Anchor) -> Part | None:
    month = _number(match["month"])
    in_a_year = match.string[: match.start()].endswith("年")
    return month_of(month) if month <= 12 or in_a_year else None  # 有效期24月 is a length


def _day_of_year(match: re.Match[str], anchor: Anchor) -> Part:
    return day_of_year(_number(match["month"]), _number(match["day"]))


def _days_of_year(match: re.Match[str], anchor: Anchor) -> Part | None:
    first, last = _number(match["first"]), _number(match["last"])
    return days_of_year(_number(match["month"]), first, last) if max(first, last) <= 31 else None


def _bare_day_of_year(match: re.Match[str], anchor: Anchor) -> Part | None:
    return _day_of_year(match, anchor) if 1 <= _number(match["day"]) <= 31 else None


def _points(match: re.Match[str], anchor: Anchor) -> Part | None:
    """10.1到10.7. Two such numbers may be anything else too, so it is ambiguous; what cannot be days is left alone."""
    first, last = ((int(match[month]), int(match[day])) for month, day in (("m1", "d1"), ("m2", "d2")))
    if any(not (1 <= month <= 12 and 1 <= day <= 31) for month, day in (first, last)):
        return None
    return days_between(first, last)


def _edge_days(match: re.Match[str], anchor: Anchor) -> Part | None:
    """前3天 and 最后3天 of the period that stands before them."""
    unit, count = _PERIOD_ENDS[match["of"]], _number(match["count"])
    if count < 1:
        return None
    return days_of(unit, 1, count) if match["edge"] == "前" else days_of(unit, -count, -1)


def _last_period(match: re.Match[str], anchor: Anchor) -> Part:
    return month_of(12) if match["unit"] == "月" else quarter_of(4, anchor)


def _day_of_month(match: re.Match[str], anchor: Anchor) -> Part | None:
    day = _number(match["day"])
    return day_of_month(day) if 1 <= day <= 31 else None


def _day_in_list(match: re.Match[str], anchor: Anchor) -> Part | None:
    day = _number(match["day"])
    return day_of_month(day, needs_period=True) if 1 <= day <= 31 else None


def _named_day(match: re.Match[str], anchor: Anchor) -> Part:
    return day_of_year(*_NAMED_DAYS[match["name"]], ambiguous=match["name"] in _HOLIDAYS)


def _edge_of_month(match: re.Match[str], anchor: Anchor) -> Part:
    return third_of_month(_THIRDS[match["third"]], ambiguous=True)


def _edge_of_year(match: re.Match[str], anchor: Anchor) -> Part:
    """年初 and 年底: the first and the last month, for want of anything agreed."""
    return month_of(1 if match["edge"] == "初" else 12, ambiguous=True)


def _first_months(match: re.Match[str], anchor: Anchor) -> Part | None:
    count = _number(match["count"]) * (3 if match["unit"].startswith("季") else 1)
    return first_months_of(count, anchor) if 1 <= count <= 12 else None


def _same_ago(match: re.Match[str], anchor: Anchor) -> SameAgo:
    alone = _UNITS[match["whole"] or "日"]
    if match["unit"]:
        return SameAgo(_UNITS[match["unit"]], 1, alone)
    return SameAgo("year", -_YEARS.get(match["year"], -1), alone)


def _part_of_day(match: re.Match[str], anchor: Anchor) -> TimeOfDay:
    first, last = _PARTS[match[0]]
    return TimeOfDay(timedelta(hours=first), timedelta(hours=last - first), half_known=True, window=True)


def _time(match: re.Match[str], anchor: Anchor) -> TimeOfDay:
    hour, part = _number(match["hour"]), match["part"]
    minute = match["colon"] or match["minute"] or match["digits"] or _QUARTERS.get(match["quarter"])
    return TimeOfDay(
        timedelta(hours=_of_twenty_four(hour, part), minutes=_number(minute or "0")),
        timedelta(minutes=1) if minute else timedelta(hours=1),
        half_known=part is not None,
        of_twelve=match["colon"] is None,
    )


def _of_twenty_four(hour: int, part: str | None) -> int:
    """The hour on a clock of 24. The small hours of 晚上 follow midnight: they belong to the night before them."""
    if part is None or hour > 12:
        return hour
    if part in _NIGHT:
        return hour + 24 if hour < 5 else hour + 12
    if part in ("下午", "傍晚"):
        return hour % 12 + 12
    if part == "中午":
        return hour + 12 if hour < 11 else hour
    return hour % 12 if part == "凌晨" else hour


def _number(text: str) -> int:
    value = number_of(text)
    if not isinstance(value, int):
        raise ValueError(f"{text} is no whole number")
    return value


ZH: Final[tuple[Rule, ...]] = (
    # 大前天 前天 昨天 今天 明天 后天; 昨 and 今 alone before 晚 and 早
    rule(r"(?P<day>大前|大后|(?<![目之以提当投])前|(?<![最以之然此今随])后)(?:天|日(?!均))", _relative_day),
    rule(r"(?P<day>昨|今|(?<![说声证表申])明)(?:天|日(?!头条|方舟)|(?=[早晚晨夜]))", _relative_day),
    # 上周 上个月 这一季度 本年; 去年 前年
    rule(
        rf"{_STEP}一?个?(?:自然)?(?P<unit>{_WEEK}|月|季度?|年度?)(?!期(?!间)|边|年|刊|围|转|卡|饼|龄|轻|货|终)",
        _relative_period,
    ),
    rule(r"(?P<year>大前|(?<![以之目])前|去|今|明|(?<![以之然])后)年度?(?!轻|龄|级|货)", _relative_year),
    # 周三 上周三 星期天; 周末 上周末
    rule(rf"(?<![每各逢\d{_HAN}两几])(?:{_STEP}个?)?{_WEEK}{_WEEKDAY}(?!(?<=[上本这下]周.)(?:{_COUNTS}))", _weekday),
    rule(rf"(?<![每各逢])(?:{_STEP}个?)?周末", _weekend),
    # 前三季度, 今年前5个月: from the start of the year
    rule(rf"(?<![以之目])前(?P<count>{_N2})个?(?P<unit>季度?)", _first_months),
    rule(rf"(?<=年)前(?P<count>{_N2})个?(?P<unit>月)", _first_months),
    # 11月前3天 上周最后两天
    rule(rf"(?<=(?P<of>[月份周年度]))的?(?P<edge>前|最后)的?(?P<count>{_N2}|两)[天日]", _edge_days),
    # 前一天 前一周: before the one that is spoken of
    rule(
        rf"(?<![以之目提当])前[一1]个?(?P<unit>天|日|{_WEEK}|月|季度|年)",
        lambda match, anchor: SameAgo(_UNITS[match["unit"]], 1, alone=None, of_its_kind=True),
    ),
    # 近7天 最近一周 过去24小时 近半年 近3个自然月 未来7天
    rule(
        rf"(?P<lead>最近|近|过去|过往|(?<![以之目提当])前|未来|接下来|今后)的?(?P<count>半|{_N})个?(?P<whole>自然)?"
        rf"(?P<unit>小时|分钟|天|日|{_WEEK}|月|季度?|年)(?:之内|以内|内|里|以来)?{_WITH_TODAY}",
        _rolling,
    ),
    # 3天前 两周前 一个月前 半年前
    rule(
        rf"(?<![\d.{_HAN}第])(?:(?P<count>\d{{1,3}}|[{_HAN}两百]+)(?P<unit>天|年|个?{_WEEK}|个月|个季度)|半个?(?P<half>年|月))"
        r"(?:之|以)?前(?!端|置|台|后|半|期|往|面|\d)",
        _ago,
    ),
    # 上半年 下半月; 三季度 第一季度
    rule(r"(?P<half>[上下])半年度?", lambda match, anchor: half_of(_FIRST_OR_SECOND[match["half"]], anchor)),
    rule(r"(?P<half>[上下])半个?月", lambda match, anchor: half_of_month(_FIRST_OR_SECOND[match["half"]])),
    rule(
        rf"(?<![近\d{_HAN}])(?:第?(?P<quarter>[一二三四1-4])季度|第(?P<short>[一二三四1-4])季(?!节))",
        lambda match, anchor: quarter_of(_number(match["quarter"] or match["short"]), anchor),
    ),
    # 11月第一周 11月最后一周; 去年最后一个季度
    rule(
        rf"第(?P<week>[一二三四五1-5])个?{_WEEK}(?!期(?!间)|年)",
        lambda match, anchor: week_of_month(_number(match["week"])),
    ),
    rule(rf"(?:(?<=月)|(?<=月份))的?最后[一1]个?{_WEEK}(?!期(?!间)|年)", lambda match, anchor: week_of_month(-1)),
    rule(r"(?<=年)的?最后[一1]个?(?P<unit>月|季度)", _last_period),
    # 上旬; 月初 and 月底 are read like it, and are ambiguous; 年初 年底
    rule(r"(?P<third>[上中下])旬", lambda match, anchor: third_of_month(_THIRDS[match["third"]])),
    rule(r"月(?P<third>[初底末]|中(?![国心文的介]))", _edge_of_month),
    rule(r"(?<=[月份])(?P<third>[初底末])", _edge_of_month),
    rule(r"(?:(?<=年)|年)(?P<edge>[初底末])(?!次|始)", _edge_of_year),
    # 2026年 26年4月 二〇二六年; 11月 1-3月; 11月1日 11月1到5日; 15号 5-10号
    rule(
        rf"(?<![\d{_HAN}])(?:(?P<year>(?:19|20)\d\d|[一二][{_HAN}]{{3}})(?:年度?(?!轻|龄)|(?={_TO}(?:19|20)\d\d年))"
        r"|(?P<short>\d\d)年(?=\d{1,2}月|q[1-4]|第?[一二三四]季|[上下]半年))",
        _year,
    ),
    rule(
        rf"{_FREE_MONTH}(?!一月一(?![日号]))(?P<month>{_MONTH})(?:月份?(?!龄|卡|饼|球|薪|租|嫂)|(?={_TO}{_MONTH}月))",
        _month,
    ),
    rule(rf"{_FREE_MONTH}(?P<month>{_N2})月份?的?(?P<day>{_N2})(?:[日号]|(?=(?:{_TO}|、|,){_N2}[日号]))", _day_of_year),
    rule(rf"{_FREE_MONTH}(?P<month>\d{{1,2}})月份?(?P<day>\d{{1,2}}){_NO_COUNT}(?!{_TO}\d)", _bare_day_of_year),
    rule(
        rf"{_FREE_MONTH}(?P<month>\d{{1,2}})月份?(?P<day>\d{{1,2}})(?={_TO}(?:\d{{1,2}}月|\d{{1,2}}/)\d)",
        _bare_day_of_year,
    ),
    rule(
        rf"{_FREE_MONTH}(?P<month>{_N2})月份?(?P<first>{_N2})[日号]?{_TO}(?P<last>\d{{1,2}}){_NO_COUNT}(?![日号])",
        _days_of_year,
    ),
    rule(rf"{_FREE}{_NO_THING}{_NO_NAME}(?P<day>{_N2})号(?!{_NUMBERED})", _day_of_month),
    rule(rf"{_FREE}{_NO_NAME}(?P<day>{_N2})(?={_TO}{_N2}[日号])", _day_of_month),
    # The 5日 of 11月1日到5日渠道消耗 and the 5号 of 本月5号渠道消耗: what stands before makes a day of them.
    rule(rf"{_FREE_MONTH}(?P<day>{_N2})日(?={_TO}{_N2}日)", _day_of_month),
    rule(rf"{_AFTER_TO}(?P<day>{_N2})[日号]", _day_in_list),
    rule(rf"(?:(?<=月)|(?<=月份)|(?<=月的))(?P<day>{_N2})(?:日{_NO_WINDOW}|号)", _day_in_list),
    # 10.1到10.7, where no other number can stand
    rule(
        rf"{_BEFORE_POINTS}(?P<m1>\d{{1,2}})\.(?P<d1>\d{{1,2}}){_TO}(?P<m2>\d{{1,2}})\.(?P<d2>\d{{1,2}}){_BEHIND_POINTS}",
        _points,
    ),
    rule(rf"(?<![、和与,次首]){_FREE}(?P<day>{_N2})日{_BEHIND_A_DAY}", _day_of_month),
    rule(rf"(?<=[日号][、和与,])(?P<day>{_N2})日", _day_in_list),
    # 双十一 元旦 国庆节
    rule(
        rf"(?<![\d{_HAN}])(?P<name>双十一|双11|双十二|双12|(?<=年)618|618(?=大促|活动|期间|当天|年中|购物节)|元旦|五一|劳动节|(?<!美国)国庆|圣诞)"
        r"(?!\d)(?:节|购物节)?",
        _named_day,
    ),
    # 去年同期 上月同期 去年今天
    rule(
        rf"(?:(?P<year>去|前|上)年|上个?(?P<unit>{_WEEK}|月|季度?))的?"
        r"(?:同期|今[天日]|同一天|同日|这个?时候|此时|同(?P<whole>周|月|季度?))",
        _same_ago,
    ),
    # 年初至今 本季度初以来
    rule(
        rf"(?:今年|本)?(?P<unit>年|季度?|月|{_WEEK})初(?:以来|至今|到现在|到目前|到今[天日])",
        lambda match, anchor: to_date(anchor, _UNITS[match["unit"]]),
    ),
    # 下午3点 20点30分 晚上8:00, the 3 of 3-5点; 今晚
    rule(
        rf"(?:(?P<part>{_PART}|[早晚](?={_N2}[点时:]))\s*)?{_FREE}{_NO_THING}(?P<hour>{_N2})"
        rf"(?::(?P<colon>[0-5]\d)(?![\d:]){NO_PICTURE}|(?:点钟?{_NO_HOUR}|时(?!间|段|长|候)|(?={_TO}{_N2}[点时]))"
        rf"(?:(?P<quarter>半|一刻|三刻)|(?P<minute>{_N2})分|(?P<digits>[0-5]\d)(?=$|{_TO}|[\s的,]))?)",
        _time,
    ),
    rule(_PART, _part_of_day),
)
