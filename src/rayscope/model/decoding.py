"""The common rule for external data: a malformed item affects only itself."""

from __future__ import annotations

#: Raised by decoders of JSON, UTF-8 and numbers for malformed input. UnicodeDecodeError and msgspec's errors
#: are ValueErrors. A RecursionError means that the input is nested too deep.
DECODE_ERRORS: tuple[type[Exception], ...] = (ValueError, RecursionError)
