"""Rules evaluated over real series: state kept over a restart, and the history."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rayscope.alerts import service
from rayscope.alerts.backtest import backtest
from rayscope.alerts.notification.channels import Notification
from rayscope.alerts.rules import parse_rules
from rayscope.alerts.service import AlertService
from rayscope.alerts.state import State
from rayscope.metrics.promql.evaluate import Result, evaluate
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.model.metric import sample
from rayscope.storage.errors import BadQuery, Busy, StoreError
from rayscope.storage.sql.filters import TaskFilters

S = 10**9
T0 = 1_760_000_000 * S
RULES = """
disable: [NodeDead]
groups:
- name: g
  rules:
  - {alert: Hot, expr: temperature > 80, for: 60s, labels: {severity: critical},
     annotations: {rayscope_profile: 5s}}
  - {alert: Bad, expr: a / on () group_left () b > 1}
"""


class World:
    """A session ``s`` whose one metric is ``temperature`` of node n1, sampled every 5 s."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        #: Session, filters, seconds and rule of each profile.
        self.profiles: list[tuple[object, ...]] = []
        self.store = SeriesStore()
        self.now_s = 0
        (folder / "s").mkdir()
        (folder / "alerts").mkdir()
        (folder / "alerts" / "mine.yml").write_text(RULES)
        self.service = self.start()

    def start(self) -> AlertService:
        return AlertService(
            self.folder / "alerts",
            live=lambda: ["s"],
            store=lambda _: self.store,
            home=lambda session: self.folder / session,
            profile=self.take_profile,
        )

    def take_profile(self, session: str, filters: TaskFilters, seconds: int, rule: str) -> str:
        self.profiles.append((session, filters.active(), seconds, rule))
        if len(self.profiles) > 1:
            raise Busy("A profile of this session is being taken.", "Wait for its end.", what="profile")
        return "p1"

    def pass_time(self, seconds: int, temperature: float, *, looking: bool = True) -> None:
        for _ in range(seconds):
            self.now_s += 1
            now_ns = T0 + self.now_s * S
            if self.now_s % 5 == 0:
                self.store.append(now_ns, [sample("temperature", temperature, node_id="n1")])
            if looking:
                self.service.turn(now_ns)

    def states(self) -> dict[str, State]:
        return {alert.rule: alert.state for alert in self.service.active("s")}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.service.stop()


def test_from_pending_to_resolved_with_the_values_that_caused_it(world: World) -> None:
    world.pass_time(30, 20)
    assert world.states() == {}
    world.pass_time(30, 95)
    assert world.states() == {"Hot": State.PENDING}
    world.pass_time(60, 95)
    assert world.states() == {"Hot": State.FIRING}
    world.pass_time(20, 20)
    assert world.states() == {}
    assert [alert.rule for alert in world.service.resolved("s")] == ["Hot"]
    events = world.service.events("s")
    assert [event.after for event in events] == [State.PENDING, State.FIRING, State.RESOLVED]
    fired = events[1]
    assert (fired.threshold, fired.op, fired.labels["node_id"]) == (80, ">", "n1")
    assert {20.0, 95.0} <= set(fired.values)
    assert events[2].values[-1] == 20.0
    assert len(fired.times_ms) == len(fired.values)


def test_an_alert_takes_one_profile_and_pauses(world: World) -> None:
    world.pass_time(90, 95)
    (alert,) = world.service.active("s")
    assert alert.profile == {"profile_id": "p1", "problem": None}
    assert world.profiles == [("s", {"node_id": "n1"}, 5, "Hot")]
    assert [event.profile for event in world.service.events("s")] == [None, alert.profile]
    # It fires again within the pause, also after a restart, and then while somebody takes a profile.
    codes = []
    for seconds in (20, 600):
        world.pass_time(seconds, 20)
        world.service.stop()
        world.service = world.start()
        world.pass_time(90, 95)
        profile = world.service.active("s")[0].profile
        assert profile is not None
        assert profile["problem"] is not None
        codes.append((profile["profile_id"], profile["problem"]["code"]))
    assert codes == [(None, "profile_pause"), (None, "busy")]
    # The pause after a profile that could not be taken is short.
    world.pass_time(20, 20)
    world.pass_time(90, 95)
    assert len(world.profiles) == 3


@pytest.mark.parametrize(("away_s", "fires_after_s"), [(120, 30), (2 * 3600, 60)])
def test_timers_survive_a_restart(world: World, away_s: int, fires_after_s: int) -> None:
    world.pass_time(35, 95)
    assert world.states() == {"Hot": State.PENDING}
    world.service.stop()
    world.pass_time(away_s, 95, looking=False)
    world.service = world.start()
    began = world.now_s
    while world.states().get("Hot") is not State.FIRING:
        world.pass_time(1, 95)
        assert world.now_s - began < 200
    # 25 to 35 s had passed before; time without evaluations does not count, and after an hour the wait starts
    # again.
    assert fires_after_s - 5 <= world.now_s - began <= fires_after_s + 12


def test_firing_alerts_still_fire_after_a_restart(world: World) -> None:
    world.pass_time(90, 95)
    world.service.acknowledge("s", world.service.active("s")[0].fingerprint, "me", "on it", T0)
    world.service.stop()
    world.service = world.start()
    (alert,) = world.service.active("s")
    assert (alert.state, alert.ack and alert.ack.by) == (State.FIRING, "me")
    assert len(world.service.events("s")) == 2


def test_a_rule_that_cannot_be_evaluated_says_so_and_spoils_no_other(world: World) -> None:
    for name in "ab":
        for node in ("1", "2"):
            world.store.append(T0 + S, [sample(name, 1, node_id=node)])
    world.pass_time(20, 95)
    about = world.service.about_rules("s")
    assert about["Bad"]["error"]
    assert about["Hot"] | {"cost_s": 0} == {
        "state": "pending",
        "alerts": 1,
        "error": None,
        "template_error": None,
        "problems": [],
        "unknown_metrics": [],
        "cost_s": 0,
    }
    assert "NodeDead" not in about


def test_an_exception_of_a_rule_affects_no_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    class Panic(BaseException):
        """As native code raises it."""

    def panicking(store: SeriesStore, expr: str, *rest: int) -> Result:
        if expr == "panics":
            raise Panic("index out of bounds")
        return evaluate(store, expr, *rest)

    monkeypatch.setattr(service, "evaluate", panicking)
    rules = "{alert: Panics, expr: panics}, {alert: Far, expr: up @ 1e300 > 0}, {alert: Hot, expr: temperature > 80}"
    (world.folder / "alerts" / "mine.yml").write_text(f"groups: [{{name: g, rules: [{rules}]}}]")
    (world.folder / "alerts" / "z.yml").write_text("groups: 9999-99-99")
    world.pass_time(15, 95)
    about = world.service.about_rules("s")
    assert "index out of bounds" in about["Panics"]["error"]
    assert "1970" in about["Far"]["error"]
    assert world.states() == {"Hot": State.FIRING}
    assert [problem.file for problem in world.service.rules.problems] == ["z.yml"]


def test_templates_ask_the_store_and_one_that_fails_is_a_problem_of_its_rule_alone(world: World) -> None:
    (world.folder / "alerts" / "mine.yml").write_text(
        """groups:
- name: g
  rules:
  - {record: 'all:max', expr: max(temperature)}
  - alert: Hot
    expr: temperature > 80
    annotations: {text: '{{ with query "all:max" }}{{ . | first | value | printf "%.1f C" }}{{ end }}'}
  - {alert: Broken, expr: temperature > 80, annotations: {text: '{{ query "nothing" | first }}'}}
"""
    )
    world.pass_time(15, 95)
    texts = {alert.rule: alert.annotations["text"] for alert in world.service.active("s")}
    failure = "error calling first: first() called on vector with no elements"
    assert texts == {"Hot": "95.0 C", "Broken": f"<error expanding template: {failure}>"}
    about = world.service.about_rules("s")
    assert about["Hot"]["template_error"] is None
    assert about["Broken"] | {"cost_s": 0} == {
        "state": "firing",
        "alerts": 1,
        "error": None,
        "template_error": f"Could not render 'text': {failure}.",
        "problems": [
            {
                "code": "template_error",
                "message": f"Could not render 'text': {failure}.",
                "remedy": "",
                "params": {"name": "text", "reason": failure},
            }
        ],
        "unknown_metrics": [],
        "cost_s": 0,
    }
    found = backtest(world.service.rules.rules[-2], world.store, T0, T0 + 15 * S, world.service.rendering)
    assert found["transitions"][0]["annotations"] == {"text": "95.0 C"}


def test_a_file_that_changes_counts_from_then_on(world: World) -> None:
    world.pass_time(90, 95)
    (world.folder / "alerts" / "mine.yml").write_text("groups: []   # nothing of mine")
    world.pass_time(1, 95)
    assert world.states() == {}


def test_a_rule_on_what_is_on_record(world: World) -> None:
    for seconds, degrees in ((60, 20), (90, 95), (60, 20), (30, 95)):
        world.pass_time(seconds, degrees, looking=False)
    (rule,), *_ = parse_rules(
        "groups: [{name: g, interval: 5s, rules: [{alert: A, expr: temperature > 80, for: 60s}]}]", "f"
    )
    found = backtest(rule, world.store, T0, T0 + world.now_s * S)
    changes = [(one["before"], one["after"]) for one in found["transitions"]]
    assert changes == [
        ("inactive", "pending"),
        ("pending", "firing"),
        ("firing", "resolved"),
        ("inactive", "pending"),
    ]
    pending, fired = found["transitions"][:2]
    assert fired["time_ns"] - pending["time_ns"] == 60 * S
    assert (found["fired"], found["firing_at_end"]) == (1, [])
    with pytest.raises(BadQuery):
        backtest(rule, world.store, T0, T0 + 10**6 * S)


def test_rules_without_newer_samples_are_not_evaluated_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def counted(store: SeriesStore, expr: str, *rest: int) -> Result:
        asked.append(expr)
        return evaluate(store, expr, *rest)

    monkeypatch.setattr(service, "evaluate", counted)
    rules = "[{alert: Hot, expr: temperature > 80}, {alert: Any, expr: '{x=\"1\"}'}]"
    text = f"groups: [{{name: g, interval: 1s, rules: {rules}}}]"
    (world.folder / "alerts" / "mine.yml").write_text(text)
    hot, unnamed = "temperature > 80", '{x="1"}'

    def evaluations(seconds: int) -> list[str]:
        asked.clear()
        world.pass_time(seconds, 95)
        return [expr for expr in asked if expr in (hot, unnamed)]

    evaluations(8)  # in between a file that changes is read again, and its inputs are learnt
    assert evaluations(5).count(hot) == 1
    assert evaluations(5).count(unnamed) == 5  # any series could be one of its
    assert world.states() == {"Hot": State.FIRING}
    monkeypatch.setattr(world.store, "append", lambda *_: None)
    assert evaluations(10).count(hot) == 2  # still evaluated now and then


def test_a_file_that_cannot_be_read_now_is_not_overwritten(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.pass_time(100, 90)
    assert world.states() == {"Hot": State.FIRING}
    world.service.stop()
    before = (world.folder / "s" / "alerts.json").read_bytes()
    read = Path.read_bytes

    def no_descriptors(path: Path) -> bytes:
        if path.suffix == ".json":
            raise OSError(errno.EMFILE, "Too many open files")
        return read(path)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", no_descriptors)
        world.service = world.start()
        world.pass_time(10, 90)
        with pytest.raises(StoreError, match="Too many open files"):
            world.states()
        assert read(world.folder / "s" / "alerts.json") == before
    world.pass_time(10, 90)
    assert world.states() == {"Hot": State.FIRING}
    assert [event.after for event in world.service.events("s")] == [State.PENDING, State.FIRING]


def test_a_damaged_file_is_set_aside(world: World) -> None:
    world.pass_time(100, 90)
    world.service.stop()
    kept = world.folder / "s" / "alerts.json"
    damaged = kept.read_bytes()[:-20]
    kept.write_bytes(damaged)
    world.service = world.start()
    world.pass_time(100, 90)
    assert world.states() == {"Hot": State.FIRING}
    aside = list(kept.parent.glob("alerts.damaged-*.json"))
    assert [path.read_bytes() for path in aside] == [damaged]


def test_the_log_has_alerts_that_fire_and_end(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "rayscope.alerts")
    world.pass_time(90, 95)
    world.pass_time(60, 20)
    said = [record.getMessage() for record in caplog.records if "Hot is" in record.getMessage()]
    assert said == ["Hot is firing: 'Hot'", "Hot is resolved: 'Hot'"]


def test_the_server_prints_the_log_of_alerts() -> None:
    program = (
        "import logging; from rayscope.server.runner import print_info_logs; print_info_logs()\n"
        "print_info_logs(); logging.getLogger('rayscope.alerts').info('Hot is resolved')\n"
        "logging.getLogger('rayscope.server').info('quiet')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == "Hot is resolved\n"


def test_alerts_that_fire_at_the_end_of_the_cluster_are_not_resolved(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "rayscope.alerts")
    notified: list[dict[str, list[tuple[str, State]]]] = []
    live, lost = ["s"], [False]
    world.service.stop()
    world.service = AlertService(
        world.folder / "alerts",
        live=lambda: live,
        store=lambda _: world.store,
        home=lambda session: world.folder / session,
        has_ended=lambda session: session not in live,
        is_lost=lambda _: lost[0],
    )

    def tick(alerts: Any, _silencing: Any, _now_ns: int) -> None:
        notified.append({name: [(one.rule, one.state) for one in found] for name, found in alerts.items()})

    world.service.notifier.tick = tick  # type: ignore[method-assign]
    world.pass_time(90, 95)
    lost[0] = True
    world.pass_time(30, 20)
    assert world.states() == {"Hot": State.FIRING}  # unknown: its series may have gone with the cluster
    live.clear()
    world.pass_time(1, 20)
    assert world.states() == {"Hot": State.ENDED}
    assert caplog.messages[-1] == "Hot is ended: 'Hot'"
    assert world.service.resolved("s") == []
    last = world.service.events("s")[-1]
    assert (last.before, last.after) == (State.FIRING, State.ENDED)
    # A channel may be due a minute later.
    world.pass_time(120, 20)
    assert notified[-1] == {"s": [("Hot", State.ENDED)]}
    (ended,) = world.service.active("s")
    assert ended.resolved_ns > ended.fired_ns
    for language, title, word in (
        ("en", "[CLUSTER ENDED] Hot", "Cluster ended: Hot"),
        ("zh", "[集群已结束] Hot", "集群已结束：Hot"),
    ):
        text = Notification("s", {}, [], [ended], None, T0, language=language)  # type: ignore[arg-type]
        assert title in text.title
        assert word in text.body
    live.append("s")
    world.pass_time(10, 20)
    assert world.states() == {}
    world.pass_time(15 * 60, 20)
    assert world.service.resolved("s") == []


def test_nothing_fires_or_is_pending_after_the_session_has_ended(world: World) -> None:
    over = [False]

    def start() -> AlertService:
        return AlertService(
            world.folder / "alerts",
            live=lambda: [] if over[0] else ["s"],
            store=lambda _: world.store,
            home=lambda session: world.folder / session,
            has_ended=lambda _: over[0],
        )

    (world.folder / "alerts" / "more.yml").write_text(
        "groups: [{name: g, rules: [{alert: Late, expr: temperature > 80, for: 1h}]}]"
    )
    world.service.stop()
    world.service = start()
    world.pass_time(90, 95)
    assert world.states() == {"Hot": State.FIRING, "Late": State.PENDING}
    (late,) = (alert for alert in world.service.active("s") if alert.rule == "Late")
    world.service.stop()
    over[0] = True
    world.service = start()  # no turn of this server saw the session alive
    for turns in (0, 1):
        world.pass_time(turns, 95)
        assert world.states() == {"Hot": State.ENDED}
        rules = world.service.about_rules("s")
        assert (rules["Hot"]["state"], rules["Hot"]["alerts"]) == ("ended", 1)
        assert (rules["Late"]["state"], rules["Late"]["alerts"]) == ("inactive", 0)
        with pytest.raises(BadQuery, match="not firing"):
            world.service.acknowledge("s", late.fingerprint, "me", "", T0)
    over[0] = False
    world.pass_time(5, 95)  # alive after all, such as after a lost connection
    assert world.states() == {"Hot": State.FIRING, "Late": State.PENDING}
    over[0] = True
    world.pass_time(1, 95)
    assert world.states() == {"Hot": State.ENDED}
    last = {event.rule: (event.before, event.after) for event in world.service.events("s")}
    assert last == {"Hot": (State.FIRING, State.ENDED), "Late": (State.PENDING, State.INACTIVE)}


def test_alerts_of_sessions_that_ended_are_kept_on_disk_alone(tmp_path: Path) -> None:
    world = World(tmp_path)
    sessions = [f"s{number}" for number in range(service._SESSIONS + 30)]
    live: list[str] = []
    alerts = AlertService(
        tmp_path / "alerts",
        live=lambda: live,
        store=lambda _: world.store,
        home=lambda session: tmp_path / session,
    )
    world.store.append(T0, [sample("temperature", 95, node_id="n1")])
    for number, session in enumerate(sessions):
        (tmp_path / session).mkdir()
        live[:] = [session]
        alerts.turn(T0 + number * S)
    live.clear()
    alerts.turn(T0 + len(sessions) * S)
    assert len(alerts._sessions) <= service._SESSIONS
    assert [[alert.rule for alert in alerts.active(session)] for session in sessions] == [["Hot"]] * len(
        sessions
    )
    alerts.stop()
    world.service.stop()
