"""Alerts: rules in Prometheus' form, their state machine, silences, and channels that are told."""
