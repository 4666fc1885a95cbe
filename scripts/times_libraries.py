"""Reads time expressions with a library, for scripts/bench_times.py, in an environment that has the library.

One JSON object on standard input, {"library", "rows": [{"text", "lang", "now", "zone"}]}; one on standard output:
{"version", "rows": [{"spans": [[start, end], …], "ms"}]}. Ends are as the library gives them, by the row's zone.
"""

import importlib
import importlib.metadata
import json
import sys
import warnings
from calendar import monthrange
from collections.abc import Callable
from contextlib import redirect_stdout
from datetime import datetime, time, timedelta
from time import perf_counter
from typing import Any
from zoneinfo import ZoneInfo

Pair = tuple[datetime, datetime]
Reader = Callable[[str, str, datetime], list[Pair]]
"""Text, language and the moment by the row's zone, without it: to spans."""


def _dateparser() -> Reader:
    """Points, from sentence search with the single-expression parser behind it, widened to the period it names."""
    search = importlib.import_module("dateparser.search").search_dates
    parser_of: Any = importlib.import_module("dateparser.date").DateDataParser

    def read(text: str, lang: str, now: datetime) -> list[Pair]:
        settings = {"RELATIVE_BASE": now, "PREFER_DATES_FROM": "past"}
        parser = parser_of(languages=[lang], settings=settings)
        whole = parser.get_date_data(text)
        if whole.date_obj is not None:
            return [_period(whole.date_obj, whole.period)]
        spans = search(text, languages=[lang], settings={**settings, "RETURN_TIME_SPAN": True}) or []
        starts = {name.removesuffix(" (start)"): at for name, at in spans if name.endswith(" (start)")}
        ends = {name.removesuffix(" (end)"): at for name, at in spans if name.endswith(" (end)")}
        points = [(name, at) for name, at in spans if not name.endswith((" (start)", " (end)")) and name not in starts]
        periods = [_period(at, parser.get_date_data(name).period) for name, at in points]
        return [*((_midnight(at), _next_midnight(ends[name])) for name, at in starts.items()), *periods]

    return read


def _jionlp() -> Reader:
    with redirect_stdout(sys.stderr):  # it greets on standard output
        jionlp = importlib.import_module("jionlp")

    def read(text: str, lang: str, now: datetime) -> list[Pair]:
        found = jionlp.ner.extract_time(text, time_base=now.timestamp(), with_parsing=True)
        times = [it["detail"]["time"] for it in found if it["type"] in ("time_point", "time_span")]
        return [
            (datetime.fromisoformat(first), datetime.fromisoformat(last) + timedelta(seconds=last.endswith("59:59")))
            for first, last in times
        ]

    return read


def _recognizers() -> Reader:
    """Microsoft's. Of several values the last one that has begun, which is its past reading."""
    module = importlib.import_module("recognizers_date_time")
    cultures = {"zh": module.Culture.Chinese, "en": module.Culture.English}

    def read(text: str, lang: str, now: datetime) -> list[Pair]:
        found = module.recognize_datetime(text, cultures[lang], reference=now)
        spans = [[_of_value(value) for value in it.resolution["values"]] for it in found if it.resolution]
        known = [[pair for pair in pairs if pair is not None] for pairs in spans]
        return [max([it for it in pairs if it[0] <= now] or pairs) for pairs in known if pairs]

    return read


def _of_value(value: dict[str, str]) -> Pair | None:
    match value.get("type"):
        case "date" | "datetime" if value.get("value", "").startswith(("1", "2")):
            start = datetime.fromisoformat(value["value"])
            return start, start + (timedelta(days=1) if value["type"] == "date" else timedelta(hours=1))
        case "daterange" | "datetimerange" if "start" in value and "end" in value:
            return datetime.fromisoformat(value["start"]), datetime.fromisoformat(value["end"])
    return None


def _parsedatetime() -> Reader:
    """Points, as days or, where a time of day was read, as hours."""
    calendar = importlib.import_module("parsedatetime").Calendar()

    def read(text: str, lang: str, now: datetime) -> list[Pair]:
        found = calendar.nlp(text, now) or ()
        return [_period(at, "time" if flag in (2, 3) else "day") for at, flag, *_ in found]

    return read


LIBRARIES: dict[str, Callable[[], Reader]] = {
    "dateparser": _dateparser,
    "jionlp": _jionlp,
    "recognizers-text-date-time": _recognizers,
    "parsedatetime": _parsedatetime,
}


def _period(at: datetime, name: str) -> Pair:
    """The period of that name around the moment."""
    day = _midnight(at)
    match name:
        case "year":
            return day.replace(month=1, day=1), day.replace(year=day.year + 1, month=1, day=1)
        case "month":
            first = day.replace(day=1)
            return first, first + timedelta(days=monthrange(day.year, day.month)[1])
        case "week":
            monday = day - timedelta(days=day.weekday())
            return monday, monday + timedelta(days=7)
        case "time":
            hour = at.replace(minute=0, second=0, microsecond=0)
            return hour, hour + timedelta(hours=1)
    return day, day + timedelta(days=1)


def _midnight(at: datetime) -> datetime:
    return datetime.combine(at.date(), time())


def _next_midnight(at: datetime) -> datetime:
    return _midnight(at) + timedelta(days=1)


def main() -> None:
    warnings.simplefilter("ignore")
    asked = json.load(sys.stdin)
    read = LIBRARIES[asked["library"]]()
    rows = []
    for row in asked["rows"]:
        now = datetime.fromisoformat(row["now"]).astimezone(ZoneInfo(row["zone"])).replace(tzinfo=None)
        start = perf_counter()
        try:
            spans = [
                [edge.replace(tzinfo=None).isoformat() for edge in pair] for pair in read(row["text"], row["lang"], now)
            ]
        except Exception:  # whatever a library fails with, it has not read the text
            spans = []
        rows.append({"spans": spans, "ms": (perf_counter() - start) * 1000})
    json.dump({"version": importlib.metadata.version(asked["library"]), "rows": rows}, sys.stdout)


if __name__ == "__main__":
    main()
