"""What a reader of the numbers must know that no row shows: said with the statement, behind what is complete."""

from datetime import date

from engine.comparing import reaches_before
from engine.dataset import Language
from engine.encode import wire_value
from engine.query import Answer
from gateway.messages import say


def caveats(answer: Answer, language: Language) -> str:
    return _fiscal(answer, language) + _not_compared(answer, language) + _before_the_data(answer, language)


def _fiscal(answer: Answer, language: Language) -> str:
    """Which years and quarters the rows stand for, where they are not the calendar's."""
    dataset = answer.plan.resolved.dataset
    if dataset.fiscal_year is None or not any(
        dataset.months_late(column.grain) for column in answer.plan.resolved.columns if column.grain
    ):
        return ""
    month = dataset.fiscal_year.start_month
    return say("fiscal", language, month=month if language == "zh" else f"{date(2000, month, 1):%B}")


def _not_compared(answer: Answer, language: Language) -> str:
    """What a comparison with an earlier period leaves out; nothing where none is made between groups."""
    resolved = answer.plan.resolved
    compared = any(column.field is not None and column.field.comparison is not None for column in resolved.columns)
    return say("not_compared", language) if compared and resolved.groups else ""


def _before_the_data(answer: Answer, language: Language) -> str:
    """Where something is compared with a time of which there is no data, or only a part."""
    resolved, first = answer.plan.resolved, answer.snapshot.data_since
    if first is None or not reaches_before(resolved, first):
        return ""
    return say("before_the_data", language, first=wire_value(first, resolved.dataset.zone))
