"""Recipients, contents, and times of notifications, with a channel that records them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from rayscope.alerts.notification import channels
from rayscope.alerts.notification.channels import ChannelError, Notification, load_channels
from rayscope.alerts.notification.notify import Notifier
from rayscope.alerts.notification.silences import Silences
from rayscope.alerts.state import Acknowledgement, Alert, State, fingerprint
from rayscope.model.metric import Matcher
from rayscope.storage.errors import BadQuery, NotFound

S = 10**9
MINUTE = 60 * S
T0 = 1_760_000_000 * S
SECRET = "hunter2-very-secret"


class Keeper:
    """A plug-in's channel that records notifications and fails as often as a test wants."""

    route = None
    sent: ClassVar[list[Notification]] = []
    failures: ClassVar[list[int]] = [0]
    event: ClassVar[threading.Event] = threading.Event()

    def __init__(self, config: Mapping[str, Any]) -> None:
        if config.get("broken"):
            raise RuntimeError(config["broken"])

    def targets(self) -> list[str]:
        return ["the test"]

    def send(self, notification: Notification) -> None:
        if self.failures[0]:
            self.failures[0] -= 1
            raise ChannelError("not now")
        self.sent.append(notification)
        self.event.set()


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Notifier]]:
    known = entry_points(group=channels.GROUP)
    kinds = EntryPoints([*known, EntryPoint("keeper", f"{__name__}:Keeper", channels.GROUP)])
    monkeypatch.setattr(channels, "entry_points", kinds.select)
    Keeper.sent.clear()
    Keeper.failures[0] = 0
    made: list[Notifier] = []

    def start(text: str = "", **options: Any) -> Notifier:
        if text:
            (tmp_path / "channels.yml").write_text(text)
        made.append(Notifier(tmp_path, lambda session: f"http://here/{session}", **options))
        return made[-1]

    yield start
    for notifier in made:
        notifier.stop()


CHANNELS = """
route: {group_by: [alertname], group_wait: 10s, group_interval: 1m, repeat_interval: 1h}
channels: [{name: k, type: keeper}]
"""


def alert(node: str, state: State = State.FIRING, rule: str = "R", **labels: str) -> Alert:
    given = {"alertname": rule, "node_id": node, **labels}
    return Alert(fingerprint(given), rule, given, {"summary": f"{node} is ill"}, state, 1.0, T0, T0)


def quiet(_: Mapping[str, str]) -> list[str]:
    return []


def sent(wait_for: Callable[..., Any], number: int) -> list[tuple[list[str], list[str]]]:
    """Wait for ``number`` notifications and return the firing and the resolved nodes of each."""
    wait_for(lambda: len(Keeper.sent) >= number, f"{number} notifications")
    return [
        ([a.labels["node_id"] for a in one.firing], [a.labels["node_id"] for a in one.resolved])
        for one in Keeper.sent
    ]


def test_a_group_waits_then_changes_then_repeats_then_ends(
    make: Callable[..., Notifier], wait_for: Callable[..., Any]
) -> None:
    notifier = make(CHANNELS)
    a, b, over = alert("a"), alert("b"), alert("a", State.RESOLVED)
    steps: list[tuple[int, list[Alert], int]] = [
        (0, [a], 0),  # waits for others
        (5, [a, b], 0),
        (10, [a, b], 1),  # both at once
        (30, [a, b], 1),
        (30, [over, b], 1),  # the interval is not over
        (70, [over, b], 2),
        (140, [over, b], 2),  # reported once
        (70 + 3599, [b], 2),
        (70 + 3600, [b], 3),  # a reminder
        (5000, [alert("b", State.RESOLVED)], 4),
        (6000, [alert("b", State.RESOLVED)], 4),
    ]
    for at, alerts, number in steps:
        notifier.tick({"s": alerts}, quiet, T0 + at * S)
        sent(wait_for, number)
        assert len(Keeper.sent) == number, at
    assert sent(wait_for, 4) == [(["a", "b"], []), (["b"], ["a"]), (["b"], []), ([], ["b"])]
    assert Keeper.sent[0].title == "[FIRING 2] R"
    assert "a is ill" in Keeper.sent[0].body
    assert Keeper.sent[0].url == "http://here/s"


def test_silenced_and_acknowledged_alerts(
    make: Callable[..., Notifier], wait_for: Callable[..., Any]
) -> None:
    notifier = make(CHANNELS)
    a, b = alert("a"), alert("b")

    def silencing(labels: Mapping[str, str]) -> list[str]:
        return ["id"] if labels["node_id"] == "a" and labels["session"] == "s" else []

    notifier.tick({"s": [a, b]}, silencing, T0)
    notifier.tick({"s": [a, b]}, silencing, T0 + 10 * S)
    assert sent(wait_for, 1) == [(["b"], [])]
    b.ack = Acknowledgement("me", "", T0)
    notifier.tick({"s": [a, b]}, silencing, T0 + 7200 * S)
    assert len(Keeper.sent) == 1  # no reminders of acknowledged alerts
    notifier.tick({"s": [a, alert("b", State.RESOLVED)]}, silencing, T0 + 7300 * S)
    assert sent(wait_for, 2)[1] == ([], ["b"])


def test_sent_notifications_are_known_after_a_restart(
    make: Callable[..., Notifier], wait_for: Callable[..., Any]
) -> None:
    first = make(CHANNELS)
    first.tick({"s": [alert("a")]}, quiet, T0)
    first.tick({"s": [alert("a")]}, quiet, T0 + 10 * S)
    sent(wait_for, 1)
    second = make()
    second.tick({"s": [alert("a")]}, quiet, T0 + 20 * S)
    second.tick({"s": [alert("a", State.RESOLVED)]}, quiet, T0 + 90 * S)
    assert sent(wait_for, 2) == [(["a"], []), ([], ["a"])]


def test_a_notification_is_in_the_configured_language() -> None:
    ill = replace(
        alert("n1", severity="warning"),
        condition="load > 80 for 1m",
        value=93.25,
        annotations={},
        fired_ns=T0,
    )
    english = Notification("s", {}, [ill], [], None, T0).body.splitlines()
    assert english[:5] == [
        "Firing: R",
        "Rule: R",
        "Severity: warning",
        "Condition: load > 80 for 1m",
        "Value: 93.25",
    ]
    assert f"ID: {ill.fingerprint}" in english
    over = replace(ill, annotations={"summary": "ill", "summary_zh": "病了"}, resolved_ns=T0 + 60 * 10**9)
    chinese = Notification("s", {}, [], [over], None, T0, language="zh")
    assert (chinese.title, chinese.body.splitlines()[0]) == ("[已恢复] 病了", "已恢复：病了")
    several = [ill, replace(ill, rule="Q", fingerprint="f")]
    for resolved, is_test, title in (
        (False, False, "[告警 2] Q、R"),
        (False, True, "[测试 告警 2] Q、R"),
        (True, False, "[已恢复 2] Q、R"),
    ):
        firing, over = ([], several) if resolved else (several, [])
        assert Notification("s", {}, firing, over, None, T0, is_test, "zh").title == title
    assert any(line.startswith("结束时间：") for line in chinese.body.splitlines())


def test_a_notification_leads_to_the_profile() -> None:
    taken = replace(alert("n1"), profile={"profile_id": "p1", "problem": None})
    problem = {"code": "busy", "message": "A profile is being taken.", "remedy": "Wait."}
    without = replace(taken, profile={"profile_id": None, "problem": problem})
    for profiled, url, line in (
        (taken, "http://host/s/s/alerts", "Profile: http://host/s/s/alerts?profile=p1"),
        (taken, None, "Profile: rayscope lines --profile p1"),
        (without, None, "Profile: none, see the alert"),
    ):
        assert line in Notification("s", {}, [profiled], [], url, T0).body.splitlines()


def test_a_failed_delivery_is_retried_then_abandoned_and_sent_again_later(
    make: Callable[..., Notifier], wait_for: Callable[..., Any]
) -> None:
    notifier = make(CHANNELS, retry_s=(0.05, 0.05))
    Keeper.failures[0] = 2
    notifier.tick({"s": [alert("a")]}, quiet, T0)
    notifier.tick({"s": [alert("a")]}, quiet, T0 + 10 * S)
    sent(wait_for, 1)
    wait_for(lambda: notifier.status("k").sent == 1, "it is counted")
    state = notifier.status("k")
    assert (state.tries, state.last_ok, state.last_error, state.failed) == (3, True, None, 0)
    Keeper.failures[0] = 3
    notifier.tick({"s": [alert("a"), alert("b")]}, quiet, T0 + 80 * S)
    wait_for(lambda: notifier.status("k").failed == 1, "it is given up")
    assert (notifier.status("k").last_error or {})["message"] == "not now"
    notifier.tick({"s": [alert("a"), alert("b")]}, quiet, T0 + 150 * S)
    assert sent(wait_for, 2)[1] == (["a", "b"], [])


def test_waiting_notifications_survive_a_change_of_the_file(
    make: Callable[..., Notifier], wait_for: Callable[..., Any], tmp_path: Path
) -> None:
    notifier = make(CHANNELS, retry_s=(60.0,))
    Keeper.failures[0] = 1
    notifier.tick({"s": [alert("a")]}, quiet, T0)
    notifier.tick({"s": [alert("a")]}, quiet, T0 + 10 * S)
    wait_for(lambda: notifier.status("k").last_ok is False, "it failed")
    notifier.tick({"s": [alert("a"), alert("b")]}, quiet, T0 + 80 * S)
    (tmp_path / "channels.yml").write_text(CHANNELS + "# changed")
    notifier.reload()
    assert sent(wait_for, 2) == [(["a"], []), (["a", "b"], [])]


def test_a_channel_gets_what_matches(make: Callable[..., Notifier], wait_for: Callable[..., Any]) -> None:
    notifier = make(
        "route: {group_wait: 0s}\n"
        "channels: [{name: k, type: keeper, match: {severity: critical}, send_resolved: false}]"
    )
    both = [alert("a", severity="critical"), alert("b", severity="warning")]
    notifier.tick({"s": both}, quiet, T0)
    assert sent(wait_for, 1) == [(["a"], [])]
    notifier.tick({"s": [alert("a", State.RESOLVED, severity="critical")]}, quiet, T0 + 90 * S)
    assert len(Keeper.sent) == 1


def test_a_channel_gets_information_only_if_it_asks(
    make: Callable[..., Notifier], wait_for: Callable[..., Any]
) -> None:
    both = [alert("a", rule="Slow", severity="info"), alert("b", severity="warning")]
    for number, (key, wanted) in enumerate(
        {
            "": ["b"],
            ", match: {severity: info}": ["a"],
            ", send_info: true": ["a", "b"],
            ", send_info: true, rules: [Slow]": ["a"],
            ", rules: [R, Other]": ["b"],
        }.items()
    ):
        channel = f"{{name: k{number}, type: keeper{key}}}"
        notifier = make(f"route: {{group_wait: 0s, group_by: []}}\nchannels: [{channel}]")
        notifier.tick({"s": both}, quiet, T0)
        assert sent(wait_for, number + 1)[-1] == (wanted, [])


def test_the_file_is_read_again_when_it_changes(make: Callable[..., Notifier], tmp_path: Path) -> None:
    notifier = make(CHANNELS)
    (tmp_path / "channels.yml").write_text("channels: []  # none any more")
    notifier.reload()
    assert notifier.config.channels == ()
    with pytest.raises(NotFound):
        notifier.test("k", Notification("s", {}, [alert("a")], [], None, T0, True))


@pytest.mark.parametrize(
    "text",
    [
        f"channels: [{{name: a, type: apprise, urls: ['nosuch://{SECRET}']}}]",
        f"channels: [{{name: a, type: keeper, broken: {SECRET}}}]",
        f"channels: [{{name: a, type: alertmanager, url: 'ftp://u:{SECRET}@h'}}]",
        f"channels: [{{name: a, type: keeper}}, {{name: a, type: keeper, token: {SECRET}}}]",
        f"channels: {SECRET}",
        f"{{{SECRET}: [",
        "channels: [{name: a, type: nosuch}]",
        "channels: {}",
        "channels: [7]",
        "channels: [{name: a, type: keeper, rules: R}]",
    ],
)
def test_unusable_channels_say_so_without_their_secrets(make: Any, tmp_path: Path, text: str) -> None:
    (tmp_path / "channels.yml").write_text(text)
    config = load_channels(tmp_path / "channels.yml")
    problems = [config.problem, *(each.problem for each in config.channels)]
    assert any(problems)
    assert SECRET not in str(problems)


def test_silences(tmp_path: Path) -> None:
    silences = Silences(tmp_path / "silences.json")
    matchers = [Matcher("alertname", "=", "R"), Matcher("node_id", "=~", "a|b")]
    made = silences.add(matchers, T0, T0 + MINUTE, "me", "maintenance", now_ns=T0)
    labels = {"alertname": "R", "node_id": "b"}
    again = Silences(tmp_path / "silences.json")  # a restart
    assert again.silencing(labels, T0) == [made.id]
    assert again.silencing(labels, T0 + MINUTE) == []
    assert again.silencing(labels | {"node_id": "abc"}, T0) == []
    again.end(made.id, T0 + S)
    assert [each.state(T0 + S) for each in again.list_visible(T0 + S)] == ["expired"]
    with pytest.raises(NotFound):
        again.end("nothing", T0)
    refused: list[tuple[list[Matcher], int, str]] = [
        ([], T0 + S, "me"),
        ([Matcher("a", "!=", "b")], T0 + S, "me"),
        ([Matcher("a", "=~", ".*")], T0 + S, "me"),
        ([Matcher("a", "=~", "(")], T0 + S, "me"),
        ([Matcher("a", "=", "b")], T0, "me"),
        ([Matcher("a", "=", "b")], T0 + S, " "),
    ]
    for given, ends_ns, by in refused:
        with pytest.raises(BadQuery):
            again.add(given, T0, ends_ns, by, "", now_ns=T0)


@pytest.mark.parametrize(
    "damaged", [b'[{"id": 1}]', b'[{"id": "\xff"}]', b'[{"id": ' + b"[" * 5000, b"\0" * 50]
)
def test_damaged_silences_are_set_aside(tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / "silences.json").write_bytes(damaged)
    assert Silences(tmp_path / "silences.json").list_visible(T0) == []
    assert [path.read_bytes() for path in tmp_path.glob("silences.damaged-*.json")] == [damaged]
