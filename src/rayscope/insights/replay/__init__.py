"""Simulates a recorded job again, unchanged or with changes, to predict how long it would have taken."""
