"""The version of both packages, ``rayscope`` and ``rayscope-agent``. Their metadata takes it from here."""

__version__ = "0.1.0"
