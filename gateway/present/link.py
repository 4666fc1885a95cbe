"""Where the file of a whole result is."""

from engine.query import Answer
from gateway.present.scene import Wire

RESULTS = "/v1/results/{name}"


def links(answer: Answer, reached_at: str | None) -> Wire:
    """For the first page of several, and who reaches the gateway over HTTP; else nothing, since the page is all of it.

    One address, for the sake of its length: the same with .csv or .arrow at its end holds the same rows.
    """
    more = answer.page.offset == 0 and answer.page.next_offset is not None
    if reached_at is None or not more:
        return {}
    return {"links": {"parquet": reached_at + RESULTS.format(name=f"{answer.evidence}.parquet")}}
