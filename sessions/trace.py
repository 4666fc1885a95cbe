"""Keeps the spans of a turn with the turn: OpenTelemetry is the stopwatch, this is where its readings are collected."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

from sessions.models import SpanRecord

_collected: ContextVar[list[ReadableSpan] | None] = ContextVar("collected", default=None)


class TurnSpans(SpanProcessor):
    """Hands every span that ends to the turn in whose context it ran, whichever thread that was."""

    def on_end(self, span: ReadableSpan) -> None:
        spans = _collected.get()
        if spans is not None:
            spans.append(span)


def install() -> None:
    """Let spans be recorded in this process. A provider that is already there is kept and listened to."""
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
        provider.add_span_processor(TurnSpans())


@contextmanager
def collecting() -> Iterator[list[ReadableSpan]]:
    """The spans that end inside the block, in the order in which they end."""
    spans: list[ReadableSpan] = []
    token = _collected.set(spans)
    try:
        yield spans
    finally:
        _collected.reset(token)


def records(spans: list[ReadableSpan]) -> tuple[SpanRecord, ...]:
    """The spans in the order in which they began, times counted from the first."""
    timed = sorted((span for span in spans if span.start_time and span.end_time), key=lambda span: span.start_time or 0)
    names = {span.context.span_id: span.name for span in timed if span.context}
    begin = timed[0].start_time or 0 if timed else 0
    return tuple(
        SpanRecord(
            name=span.name,
            parent=names.get(span.parent.span_id) if span.parent else None,
            starts_ms=_ms((span.start_time or 0) - begin),
            took_ms=_ms((span.end_time or 0) - (span.start_time or 0)),
            attributes={
                key: value if isinstance(value, str | int | float | bool) else str(value)
                for key, value in (span.attributes or {}).items()
            },
        )
        for span in timed
    )


def _ms(nanoseconds: int) -> float:
    return round(nanoseconds / 1e6, 3)
