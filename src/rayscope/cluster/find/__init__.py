"""Searches a session by name or by the first characters of an ID."""
