"""The end of a request's time budget, which all that its answer needs has to share: rows, count, age, reasons."""

from dataclasses import dataclass
from time import monotonic

from engine.errors import TimeBudgetExceeded

_MORE_TIME = 4  # times the budget, where nothing is known of how much work is left


@dataclass(frozen=True)
class Deadline:
    budget_ms: int
    most_ms: int
    """The longest budget that the caller may have."""
    at: float
    """On the monotonic clock, in seconds."""

    def left_s(self) -> float:
        """Seconds that are left, more than 0. Raises TimeBudgetExceeded where none is."""
        left = self.at - monotonic()
        if left <= 0:
            raise self.exceeded()
        return left

    def suggested_ms(self) -> int:
        """A budget that may suffice, whether or not the caller may have it."""
        return self.budget_ms * _MORE_TIME

    def exceeded(self) -> TimeBudgetExceeded:
        suggested = min(self.suggested_ms(), self.most_ms)
        return TimeBudgetExceeded(self.budget_ms, suggested if suggested > self.budget_ms else None)
