"""The version of both packages, ``rayscope`` and ``rayscope-agent``; their metadata is read from here."""

__version__ = "0.1.0"
