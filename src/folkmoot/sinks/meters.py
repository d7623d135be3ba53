"""The metrics of models, counted up from spans since the beginning of the journal. Pure.

Counting up (and not: telling what is new) makes a batch that comes again harmless: it comes to the same sums.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from msgspec.structs import replace

from folkmoot.domain.value import Value
from folkmoot.sinks import genai
from folkmoot.sinks.span import Span

TOKENS, DURATION = "gen_ai.client.token.usage", "gen_ai.client.operation.duration"
BOUNDS: dict[str, tuple[float, ...]] = {
    TOKENS: tuple(float(4**power) for power in range(14)),
    DURATION: tuple(0.01 * 2**power for power in range(14)),
}
"""The upper ends of the buckets, as the conventions want them."""
UNITS = {TOKENS: "{token}", DURATION: "s"}
_KIND = "gen_ai.token.type"
_COMMON = (genai.OPERATION, genai.PROVIDER, genai.MODEL, genai.ANSWERED_BY)


class Series(Value, array_like=True):
    """One metric with one set of attributes."""

    metric: str
    attributes: tuple[tuple[str, str], ...]
    buckets: tuple[int, ...]
    sum: float
    least: float
    most: float


class Meters(Value):
    """All that was counted so far."""

    seq: int = 0
    """Up to this entry of the journal: none is counted again, even if it is sent on again."""
    since: str = ""
    until: str = ""
    """When what was counted first and last happened."""
    series: tuple[Series, ...] = ()


def counted(meters: Meters, spans: Iterable[Span], seq: int) -> Meters:
    """With the spans that ended with this entry."""
    if seq <= meters.seq:
        return meters
    known = {(series.metric, series.attributes): series for series in meters.series}
    since, until = meters.since, meters.until
    for span in spans:
        for metric, attributes, value in _measured(span):
            key = metric, tuple(sorted(attributes.items()))
            known[key] = _with(known.get(key) or _empty(*key), value)
            since, until = since or span.started, max(until, span.ended)
    return Meters(seq, since, until, tuple(known.values()))


def _measured(span: Span) -> Iterable[tuple[str, dict[str, str], float]]:
    if span.operation != "chat":
        return
    common = {name: span.attributes[name] for name in _COMMON if name in span.attributes}
    if span.seconds is not None:
        yield DURATION, common | ({genai.ERROR: span.error} if span.error else {}), span.seconds
    for name, kind in ((genai.INPUT_TOKENS, "input"), (genai.OUTPUT_TOKENS, "output")):
        if name in span.attributes:
            yield TOKENS, common | {_KIND: kind}, float(span.attributes[name])


def _empty(metric: str, attributes: tuple[tuple[str, str], ...]) -> Series:
    return Series(metric, attributes, (0,) * (len(BOUNDS[metric]) + 1), 0.0, float("inf"), float("-inf"))


def _with(series: Series, value: float) -> Series:
    place = bisect_left(BOUNDS[series.metric], value)
    buckets = tuple(count + (at == place) for at, count in enumerate(series.buckets))
    return replace(
        series,
        buckets=buckets,
        sum=series.sum + value,
        least=min(series.least, value),
        most=max(series.most, value),
    )
