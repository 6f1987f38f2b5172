"""The command line: a thin layer over the server and Ray, with one module per command."""

try:
    import rayscope.version  # noqa: F401
except ModuleNotFoundError:
    raise SystemExit(
        "Error: rayscope-agent, a part of Rayscope, is not installed. Run: pip install rayscope-agent"
    ) from None
