"""Shared fixtures of unit tests: a server with the recorded sample, or with nothing, on record."""

from tests.measured_session import metered  # noqa: F401 - a fixture
from tests.running import fresh, running, table_sums  # noqa: F401 - fixtures
