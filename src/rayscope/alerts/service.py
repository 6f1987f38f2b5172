"""Alerts of all live sessions: evaluates rules, keeps state, and notifies channels."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec

from rayscope.alerts import schemas
from rayscope.alerts.history import Event, RuleValues, Session, TransitionSeries, event_of, in_states
from rayscope.alerts.notification.channels import Notification
from rayscope.alerts.notification.delivery import RETRY_S
from rayscope.alerts.notification.notify import Notifier
from rayscope.alerts.notification.silences import Silences
from rayscope.alerts.notification.texts import Language, summary
from rayscope.alerts.profiles import TakeProfile, take_profiles
from rayscope.alerts.recorded import expand
from rayscope.alerts.rules import INTERVAL_NS, Rule, RuleSet, load_rules, rule_files
from rayscope.alerts.simple_form import RENAMED
from rayscope.alerts.state import (
    OVER,
    RESOLVED_NS,
    Acknowledgement,
    Alert,
    Alerts,
    Machine,
    State,
    Transition,
    as_ended,
    end_alerts,
    shift_pending,
)
from rayscope.alerts.templating.evaluate import Rendering
from rayscope.alerts.templating.values import Sample
from rayscope.api.provide import provide
from rayscope.api.responses import error_info
from rayscope.api.schemas import ErrorDetail
from rayscope.metrics.promql.evaluate import evaluate
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.periodic import PeriodicTask
from rayscope.storage.errors import BadQuery, StoreError

log = logging.getLogger("rayscope.alerts")

_TICK_S = 1.0
#: If there were no evaluations for longer than this, the server was not running, in ns.
_AWAY_NS = 3 * INTERVAL_NS
#: If pending alerts were not evaluated for longer than this, they start again, in ns.
_FORGET_NS = 3600 * 10**9
#: Changes without a transition (values, timers) are saved at least this often, in ns.
_SAVE_NS = 60 * 10**9
#: Maximum number of sessions whose alerts stay in memory, unless more are live.
_SESSIONS = 20
_MAX_ALERTS = 1000
#: How long a rule's last result is reused while its series get no newer samples, in ns.
_HOLDS_NS = 5 * 10**9


class AlertService:
    """Evaluates the rules of live sessions and notifies channels, between :meth:`start` and :meth:`stop`.

    ``live()`` returns the sessions whose metrics are being collected, ``store(session)`` their series, and
    ``home(session)`` a session's folder. ``has_ended(session)`` returns whether its cluster has ended, and
    ``is_lost(session)`` whether it does not respond now. ``link(session)`` returns the address of the
    session's page, and ``url()`` that of the server. ``profile``: takes profiles for alerts.
    """

    def __init__(
        self,
        folder: Path,
        *,
        live: Callable[[], list[str]],
        store: Callable[[str], SeriesStore],
        home: Callable[[str], Path],
        has_ended: Callable[[str], bool] = lambda _: False,
        is_lost: Callable[[str], bool] = lambda _: False,
        link: Callable[[str], str | None] = lambda _: None,
        url: Callable[[], str] = lambda: "",
        profile: TakeProfile | None = None,
        retry_s: tuple[float, ...] = RETRY_S,
        language: Language = "en",
    ) -> None:
        self.folder = folder
        self._live = live
        self._store = store
        self._home = home
        self._has_ended = has_ended
        self._is_lost = is_lost
        self._link = link
        self._url = url
        self._profile = profile
        self._turning = threading.Lock()
        self._lock = threading.RLock()
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._machines: dict[str, Machine] = {}
        self._saved_ns: dict[str, int] = {}
        #: Session -> when it ended. Channels are notified of its ended alerts for a while after that.
        self._ended_ns: dict[str, int] = {}
        self._stamp: object = None
        self.rules = RuleSet((), (), ())
        self.silences = Silences(folder / "silences.json")
        self.notifier = Notifier(folder, link, retry_s, language)
        self._task = PeriodicTask("rayscope-alerts", _TICK_S, lambda: self.turn(time.time_ns()))
        self.reload()

    def start(self) -> None:
        """Start evaluating rules."""
        self._task.start()

    def stop(self) -> None:
        """Stop evaluating rules, and save all state."""
        self._task.stop()
        self.notifier.stop()
        with self._lock:
            for name in self._saved_ns:
                self._sessions[name].save()

    def reload(self) -> None:
        """Read the rules again if a rule file was changed, added, or removed."""
        try:
            stamp = [(path, path.stat().st_mtime_ns) for path in rule_files(self.folder)]
        except OSError:
            stamp = []
        if stamp == self._stamp:
            return
        self._stamp = stamp
        self.rules = load_rules(self.folder)
        for problem in self.rules.problems:
            where = ": ".join(filter(None, (problem.file, problem.rule)))
            log.warning("alert rules: %s: %s", where, problem.message)
        names = {rule.name for rule in self.rules.rules}
        with self._lock:
            self._machines = {}
            for session in self._sessions.values():
                session.results = {}
            for session in self._sessions.values():
                for name in [name for name in session.alerts if name not in names]:
                    del session.alerts[name]

    def turn(self, now_ns: int) -> None:
        """Evaluate all due rules, and notify the channels.

        Turns never overlap, so that results of an older turn cannot overwrite those of a newer one.
        """
        with self._turning:
            self._turn(now_ns)

    def _turn(self, now_ns: int) -> None:
        self.reload()
        self.notifier.reload()
        live = self._live()
        notified = self._save_ended(live, now_ns)
        for name in live:
            try:
                self._evaluate(name, now_ns)
                notified[name] = self._of(name).of(State.FIRING, *OVER)
            except StoreError as problem:  # such as when retention has just deleted the session
                log.info("alerts of %s: %s", name, problem.message)
            except Exception:
                log.exception("alerts of %s", name)
        try:
            self.notifier.tick(notified, lambda labels: self.silences.silencing(labels, now_ns), now_ns)
        except StoreError as problem:
            log.warning("notifications wait: %s", problem.message)

    def _save_ended(self, live: Collection[str], now_ns: int) -> dict[str, list[Alert]]:
        """Save the alerts of sessions that ended since the last turn, so that they may be dropped from
        memory.

        Returns session -> alerts that ended with it, or shortly before, for sessions that ended within the
        last 15 minutes.
        """
        ended: dict[str, list[Alert]] = {}
        with self._lock:
            for name in self._saved_ns.keys() - set(live):
                session = self._sessions[name]
                if not session.is_removed and self._has_ended(name):
                    self._ended_ns[name] = now_ns
                    for rule in self.rules.rules:
                        changes = end_alerts(session.alerts.get(rule.name, {}), now_ns)
                        series = TransitionSeries(rule, self._store(name))
                        session.events.extend(event_of(rule, change, series) for change in changes)
                        _log_changes(rule, changes)
                if session.save() or session.is_removed:
                    session.results = {}
                    del self._saved_ns[name]
            for name in [name for name, session in self._sessions.items() if session.is_removed]:
                if name not in self._saved_ns:
                    del self._sessions[name]
            for name, ended_ns in list(self._ended_ns.items()):
                if now_ns - ended_ns > RESOLVED_NS or name in live:
                    del self._ended_ns[name]
                else:
                    with contextlib.suppress(StoreError):  # the session was deleted
                        ended[name] = self._of(name).of(*OVER)
        return ended

    def _of(self, name: str) -> Session:
        """Return the alerts of a session. Raises NotFound if there is no such session."""
        with self._lock:
            known = self._sessions.get(name)
            if known is None:
                known = self._sessions[name] = Session(self._home(name) / "alerts.json")
                for old in list(self._sessions):
                    if len(self._sessions) <= _SESSIONS:
                        break
                    if old not in self._saved_ns and old != name:
                        del self._sessions[old]
            self._sessions.move_to_end(name)
            return known

    def _evaluate(self, name: str, now_ns: int) -> None:
        session = self._of(name)
        due = [rule for rule in self.rules.rules if session.due_ns.get(rule.name, 0) <= now_ns]
        if not due:
            return
        store = self._store(name)
        changed = False
        with self._lock:
            away_ns = now_ns - session.evaluated_ns if session.evaluated_ns else 0
            if away_ns > _AWAY_NS:
                for of_rule in session.alerts.values():
                    if away_ns > _FORGET_NS:
                        for key in [k for k, alert in of_rule.items() if alert.state is State.PENDING]:
                            del of_rule[key]
                    else:
                        shift_pending(of_rule, away_ns)
        is_lost = cache(lambda: self._is_lost(name))
        for rule in due:
            session.due_ns[rule.name] = now_ns + rule.interval_ns
            changed |= self._evaluate_rule(name, session, rule, store, now_ns, is_lost)
        with self._lock:
            session.evaluated_ns = now_ns
            if changed or now_ns - self._saved_ns.get(name, 0) >= _SAVE_NS:
                self._saved_ns[name] = now_ns
                session.save()

    def _evaluate_rule(
        self,
        name: str,
        session: Session,
        rule: Rule,
        store: SeriesStore,
        now_ns: int,
        is_lost: Callable[[], bool],
    ) -> bool:
        """Evaluate a rule. Returns whether any alert changed its state."""
        began = time.monotonic()
        try:
            vector = _vector(session, rule, store, now_ns)
            machine = self._machine(rule)
            rendered = machine.render(vector, self.rendering(store, now_ns))
            with self._lock:
                alerts = session.alerts.setdefault(rule.name, {})
                firing = {key for key, alert in alerts.items() if alert.state is State.FIRING}
            # Checking whether the cluster is lost may take a long time, so do it without the lock.
            lost = bool(firing - rendered.alerts.keys()) and is_lost()
            with self._lock:
                changes = machine.advance(alerts, rendered.alerts, now_ns, lost)
                session.errors.pop(rule.name, None)
                session.template_errors[rule.name] = rendered.problem
                session.matched[rule.name] = len(vector)
            if rule.profile_s and self._profile is not None:
                fired = [change.alert for change in changes if change.after is State.FIRING]
                take_profiles(session, name, rule, fired, now_ns, self._profile)
                for alert in fired:
                    alerts[alert.fingerprint].profile = alert.profile
            series = TransitionSeries(rule, store)
            events = [event_of(rule, change, series) for change in changes]
        except StoreError as problem:
            session.errors[rule.name] = error_info(problem)
            return False
        except (KeyboardInterrupt, SystemExit):
            raise
        # Panics of native code are not Exceptions. They must not affect other rules.
        except BaseException as error:
            if rule.name not in session.errors:
                log.exception("the alert rule %s", rule.name)
            said = f"{type(error).__name__}: {str(error)[:300]}"
            session.errors[rule.name] = {
                "code": "evaluation_failed",
                "message": f"Evaluation failed: {said}",
                "remedy": "",
                "params": {"reason": said},
            }
            return False
        finally:
            session.cost_s[rule.name] = time.monotonic() - began
        _log_changes(rule, changes)
        with self._lock:
            session.events.extend(events)
        return bool(changes)

    def _machine(self, rule: Rule) -> Machine:
        with self._lock:
            known = self._machines.get(rule.name)
            if known is None or known.rule is not rule:
                known = self._machines[rule.name] = Machine(rule)
            return known

    def rendering(self, store: SeriesStore, now_ns: int) -> Rendering:
        """Return the context in which a rule's templates are rendered for an evaluation at a given time."""
        records = self.rules.records

        def query(expr: str) -> list[Sample]:
            result = evaluate(store, expand(expr, records), now_ns, now_ns, 0)
            if len(result.series) > _MAX_ALERTS:
                raise BadQuery(
                    f"It has more than {_MAX_ALERTS:,} series.",
                    "Aggregate in the query.",
                    what="alert_query",
                    limit=_MAX_ALERTS,
                )
            return [Sample(labels, value) for labels, (value,) in result.series if value is not None]

        return Rendering(query, self._url())

    # Methods for the API.

    def _alerts(self, session: str) -> Mapping[str, Alerts]:
        """Return rule -> alerts. Raises NotFound.

        In an ended session nothing fires or is pending, even if no turn has ended its alerts: the next turn
        will, or the cluster ended while no server was running.
        """
        found = self._of(session)
        if not self._has_ended(session):
            return found.alerts
        return {rule: as_ended(alerts, found.evaluated_ns) for rule, alerts in found.alerts.items()}

    def active(self, session: str) -> list[Alert]:
        """Return the alerts that are firing, and after them the pending ones. If the session has ended, these
        are the alerts that fired until then.

        Raises NotFound.
        """
        with self._lock:
            found = self._alerts(session)
            states = (State.ENDED,) if self._has_ended(session) else (State.FIRING, State.PENDING)
            return [msgspec.structs.replace(alert) for state in states for alert in in_states(found, state)]

    def resolved(self, session: str) -> list[Alert]:
        """Return the alerts resolved within the last 15 minutes."""
        states = OVER if not self._has_ended(session) else (State.RESOLVED,)
        with self._lock:
            found = in_states(self._alerts(session), *states)
            return [msgspec.structs.replace(alert) for alert in found]

    def events(self, session: str) -> list[Event]:
        """Return the recorded transitions, oldest first."""
        with self._lock:
            return list(self._of(session).events)

    def about_rules(self, session: str) -> dict[str, schemas.RuleStatus]:
        """Return rule -> its state in a session, its number of alerts, its errors, and its cost in s."""
        known = set(self._store(session).names())
        with self._lock:
            found, alerts = self._of(session), self._alerts(session)
            return {
                rule.name: {
                    "state": _worst(alerts.get(rule.name, {}).values()).value,
                    "alerts": len(alerts.get(rule.name, {})),
                    "error": _text(found.errors.get(rule.name)),
                    "template_error": _text(found.template_errors.get(rule.name)),
                    "problems": list(
                        filter(None, (found.errors.get(rule.name), found.template_errors.get(rule.name)))
                    ),
                    "unknown_metrics": _unknown_metrics(rule, found, known),
                    "cost_s": found.cost_s.get(rule.name),
                }
                for rule in self.rules.rules
            }

    def unknown_metrics(self, rule: Rule, session: str | None, now_ns: int) -> list[str]:
        """Return the metrics in a rule for which a session has no series.

        Without a session, return those names that no series ever has.
        """
        store = SeriesStore() if session is None else self._store(session)
        try:
            names, _ = evaluate_expr(rule, store, now_ns)
        except StoreError:  # the list of rules shows why it cannot be evaluated
            return []
        unknown = (names or frozenset()) - set(store.names())
        return sorted(unknown if session is not None else unknown & RENAMED.keys())

    def evaluated_ns(self, session: str) -> int:
        """Return when the session's rules were last evaluated, or 0 if never."""
        with self._lock:
            return self._of(session).evaluated_ns

    def acknowledge(self, session: str, fingerprint: str, by: str, comment: str, now_ns: int) -> Alert:
        """Acknowledge an alert. Raises NotFound, or BadQuery if it is neither firing nor pending."""
        with self._lock:
            found = self._of(session)
            for alert in () if self._has_ended(session) else found.of(State.FIRING, State.PENDING):
                if alert.fingerprint == fingerprint:
                    alert.ack = Acknowledgement(by[:200], comment[:1000], now_ns)
                    found.save()
                    return msgspec.structs.replace(alert)
        raise BadQuery(
            "This alert is not firing (any more).",
            "GET /api/v1/alerts lists firing alerts.",
            what="alert_over",
        )

    def test_channel(self, name: str, session: str, now_ns: int) -> ErrorDetail | None:
        """Send a test notification. Returns the error, or None if it was sent. Raises NotFound."""
        labels = {"alertname": "TestNotification", "severity": "info"}
        alert = Alert(
            "0" * 16,
            "TestNotification",
            labels,
            {
                "summary": "This is a test notification from Rayscope.",
                "summary_zh": "这是 Rayscope 的测试通知。",
            },
            State.FIRING,
            1.0,
            now_ns,
            now_ns,
        )
        link = self._link(session) if session else None
        test = Notification(session, labels, [alert], [], link, now_ns, True, self.notifier.language)
        return self.notifier.test(name, test)


def _text(problem: ErrorDetail | None) -> str | None:
    return None if problem is None else f"{problem['message']} {problem['remedy']}".strip()


def _unknown_metrics(rule: Rule, session: Session, known: Collection[str]) -> list[str]:
    """Return the metrics in a rule for which there are no series.

    Shipped rules are left out, because they may refer to things that a cluster does not have.
    """
    results = session.results.get(rule.name)
    if rule.source == "shipped" or results is None or results.names is None:
        return []
    return sorted(results.names - set(known))


def _log_changes(rule: Rule, changes: Iterable[Transition]) -> None:
    """Log alerts that fire (as warnings), and those that are resolved or end with their cluster (as info)."""
    for change in changes:
        if change.after in (State.FIRING, *OVER):
            level = logging.WARNING if change.after is State.FIRING else logging.INFO
            alert = change.alert
            log.log(level, "%s is %s: %r", rule.name, change.after.value, summary(alert, "en")[:300])


def _worst(alerts: Iterable[Alert]) -> State:
    states = {alert.state for alert in alerts}
    for state in (State.FIRING, State.PENDING, *OVER):
        if state in states:
            return state
    return State.INACTIVE


def _vector(
    session: Session, rule: Rule, store: SeriesStore, now_ns: int
) -> list[tuple[Mapping[str, str], float]]:
    """Return the result of a rule's expression. The last result is reused if there are no newer samples."""
    last = session.results.get(rule.name)
    stamp = None if last is None or last.names is None else store.stamp(last.names)
    if last is not None and last.stamp == stamp is not None and 0 <= now_ns - last.time_ns < _HOLDS_NS:
        return last.vector
    names, vector = evaluate_expr(rule, store, now_ns)
    session.results[rule.name] = RuleValues(vector, now_ns, names, stamp)
    return vector


def evaluate_expr(
    rule: Rule, store: SeriesStore, now_ns: int
) -> tuple[frozenset[str] | None, list[tuple[Mapping[str, str], float]]]:
    """Return the metrics in a rule's expression (None if some are not given by name), and its result at a
    given time.

    Raises StoreError.
    """
    found = evaluate(store, rule.expr, now_ns, now_ns, 0)
    vector: list[tuple[Mapping[str, str], float]] = [
        (labels, values[0]) for labels, values in found.series if values[0] is not None
    ]
    if len(vector) > _MAX_ALERTS:
        raise BadQuery(
            f"{rule.name} produces {len(vector)} alerts, more than the limit of {_MAX_ALERTS}.",
            "Aggregate in its expression.",
            what="alert_limit",
            name=rule.name,
            number=len(vector),
            limit=_MAX_ALERTS,
        )
    return found.names, vector


CurrentAlerts = Annotated[AlertService, provide(AlertService)]
