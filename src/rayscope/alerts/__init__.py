"""Alerts: rules in Prometheus' form, their state machine, silences, and notification channels."""
