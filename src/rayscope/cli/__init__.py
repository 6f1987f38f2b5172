"""The command line: one module for each command, thin over the server and Ray."""

try:
    import rayscope.version  # noqa: F401
except ModuleNotFoundError:
    raise SystemExit(
        "Error: rayscope-agent, a part of Rayscope, is not installed. Run: pip install rayscope-agent"
    ) from None
