"""Searches a session for a name or for the beginning of an ID."""
