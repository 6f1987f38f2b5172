"""The one rule for bytes and texts that come from outside: a bad one costs itself and nothing beside it."""

from __future__ import annotations

#: What decoders of JSON, UTF-8 and numbers raise for bad input: also UnicodeDecodeError and msgspec's errors,
#: which are ValueErrors, and RecursionError for what is nested too deep.
DECODE_ERRORS: tuple[type[Exception], ...] = (ValueError, RecursionError)
