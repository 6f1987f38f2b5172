"""A session's timeline as files that other programs open: pure functions from rows to bytes."""

from rayscope.views.export.formats.draw import Attempt, Lane, Sink, Span, draw
from rayscope.views.export.formats.perfetto import PerfettoTrace
from rayscope.views.export.formats.speedscope import Speedscope

__all__ = ["Attempt", "Lane", "PerfettoTrace", "Sink", "Span", "Speedscope", "draw"]
