"""Metrics: collectors (plug-ins), the store of samples, and queries."""
