"""Profiles of workers on demand."""
