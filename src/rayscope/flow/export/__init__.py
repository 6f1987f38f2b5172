"""A session's timeline as files that other programs open: pure functions from rows to bytes."""

from rayscope.flow.export.chrome import ChromeTrace
from rayscope.flow.export.draw import Attempt, Lane, Sink, Span, draw
from rayscope.flow.export.perfetto import PerfettoTrace
from rayscope.flow.export.speedscope import Speedscope

__all__ = ["Attempt", "ChromeTrace", "Lane", "PerfettoTrace", "Sink", "Span", "Speedscope", "draw"]
