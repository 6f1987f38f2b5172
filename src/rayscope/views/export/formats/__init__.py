"""File formats in which other programs read a session's timeline. Pure code that turns rows into bytes."""

from rayscope.views.export.formats.draw import Attempt, Lane, Sink, Span, draw
from rayscope.views.export.formats.perfetto import PerfettoTrace
from rayscope.views.export.formats.speedscope import Speedscope

__all__ = ["Attempt", "Lane", "PerfettoTrace", "Sink", "Span", "Speedscope", "draw"]
