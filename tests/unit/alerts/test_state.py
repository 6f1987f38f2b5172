"""The state machine against a plain retelling of its rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayscope.alerts import schemas
from rayscope.alerts.history import Event
from rayscope.alerts.rules import Rule
from rayscope.alerts.state import RESOLVED_NS, Acknowledgement, Alert, Alerts, Machine, State, Transition
from rayscope.storage.errors import BadQuery

S = 10**9
STEP = 10


def machine(wait_s: int = 0, keep_s: int = 0, **labels: str) -> Machine:
    return Machine(
        Rule("R", "x > 0", "g", "test", for_ns=wait_s * S, keep_firing_ns=keep_s * S, labels=labels)
    )


def run(machine: Machine, holds: list[bool]) -> tuple[list[State], list[Transition]]:
    """The state of one series after each step, and all transitions."""
    alerts: Alerts = {}
    states, changes = [], []
    for number, one in enumerate(holds):
        vector = [({"k": "v", "__name__": "x"}, 1.0 + number)] if one else []
        changes += machine.step(alerts, vector, (1000 + number * STEP) * S)
        states.append(next((each.state for each in alerts.values()), State.INACTIVE))
    return states, changes


def retold(holds: list[bool], wait_s: int, keep_s: int) -> list[State]:
    """Fires if it has held for ``wait``, and from then on until it has not held for ``keep``."""
    states: list[State] = []
    held = idle = 0
    firing, resolved_at = False, None
    for number, one in enumerate(holds):
        if one:
            held, idle = held + 1, 0
            firing = firing or (held - 1) * STEP >= wait_s
        else:
            held, idle = 0, idle + 1
            if firing and (idle - 1) * STEP >= keep_s:
                firing, resolved_at = False, number
        if firing:
            states.append(State.FIRING)
            resolved_at = None
        elif one:
            states.append(State.PENDING)
            resolved_at = None
        elif resolved_at is not None and (number - resolved_at) * STEP * S <= RESOLVED_NS:
            states.append(State.RESOLVED)
        else:
            states.append(State.INACTIVE)
    return states


@given(st.lists(st.booleans(), max_size=60), st.sampled_from([0, 10, 25, 60]), st.sampled_from([0, 10, 30]))
def test_it_does_what_the_rule_says(holds: list[bool], wait_s: int, keep_s: int) -> None:
    states, changes = run(machine(wait_s, keep_s), holds)
    # A fired alert that starts again while it is still shown as resolved has to wait again.
    expected = retold(holds, wait_s, keep_s)
    assert states == expected
    # Every transition is reported, and each begins where the last one ended (resolved ones fade silently).
    at = State.INACTIVE
    for change in changes:
        assert change.before in (at, State.INACTIVE if at is State.RESOLVED else at)
        assert change.before is not change.after
        at = change.after
    assert at is states[-1] if states and states[-1] is not State.INACTIVE else True


def test_a_resolved_alert_is_kept_for_a_quarter_of_an_hour() -> None:
    states, _ = run(machine(), [True, *[False] * 95])
    assert states.count(State.RESOLVED) == 15 * 60 // STEP + 1
    assert states[-1] is State.INACTIVE


def test_labels_that_make_two_alerts_one_are_an_error_and_change_nothing() -> None:
    alerts: Alerts = {}
    with pytest.raises(BadQuery, match="same alert"):
        machine(0, 0, k="").step(alerts, [({"k": "a"}, 1.0), ({"k": "b"}, 1.0)], S)
    assert alerts == {}


def test_an_infinite_value_counts_as_no_value() -> None:
    alerts: Alerts = {}
    machine().step(alerts, [({}, float("inf"))], S)
    assert [alert.value for alert in alerts.values()] == [None]


def test_the_answers_have_the_fields_of_the_structs() -> None:
    assert set(Alert.__struct_fields__) == schemas.PlainAlert.__annotations__.keys()
    assert set(Acknowledgement.__struct_fields__) == schemas.AckInfo.__annotations__.keys()
    assert set(Event.__struct_fields__) == schemas.AlertEvent.__annotations__.keys()
