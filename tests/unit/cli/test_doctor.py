"""What ``rayscope doctor`` makes of facts, without Ray; and what it reads out of environments and counters."""

from __future__ import annotations

import io
import json
import sys
import venv
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from rayscope.agent.settings import EXPORT_ADDR
from rayscope.cli import recording
from rayscope.cli.doctor import collect
from rayscope.cli.doctor.checks import Finding, is_whole, judge
from rayscope.cli.doctor.command import as_json, show
from rayscope.cli.doctor.facts import (
    Driver,
    Facts,
    Measured,
    Node,
    NodeEnv,
    Reading,
    ServerFacts,
    node_env,
    place,
    same_place,
)
from rayscope.cli.doctor.host import has_debugpy, parse_counters
from rayscope.cli.main import app
from rayscope.server.runner import Server
from rayscope.settings import Settings

URL = "http://127.0.0.1:8700"
ENV = NodeEnv(
    *(URL, True, True),
    fast_lane=True,
    profiling=True,
    trace=True,
    worker_events=True,
    cluster_events=True,
    serve_events=True,
)
AGENT = {"trouble": None, "waiting": 0}
NODE = Node(
    *("a" * 56, "10.0.0.1", True, True, ENV, 12, "/opt/ray/bin/python", "fast"),
    agent=AGENT,
    us_an_event=2.5,
    received=4200,
    lost=0,
)
REMOTE = Node("b" * 56, "10.0.0.2", lane="fast", agent=AGENT, us_an_event=3.5, since_start=True)
DROPPED: dict[str, Any] = {"total": 0, "spans": 0, "by": [], "repaired_total": 0, "repaired_partly": False}
SERVER = ServerFacts(
    *(URL, "", "", "0.1.0", {"status": "ok"}, True),
    {
        "recording": "events",
        "spans": 1000,
        "dropped": DROPPED,
        "snapshots": {"ok": True, "error": None},
        "tracing": {"traced": 3, "untraced": 0},
    },
    {"rejected_batches": 0, "behind_ns": 0},
)
WHOLE = Facts(
    *("10.0.0.1:6379", "session_x", "2.60.0", (NODE, REMOTE)),
    config={recording.WORKER_EVENTS: True, recording.CLUSTER_EVENTS: True},
    server=SERVER,
    reading=Reading(0.05, 1000, 7, tasks_from="gcs"),
    measured=Measured(
        *(4.0, 1000, 1000, {"agent": 0.04, "raylet": 0.03, "gcs": 0.05, "server": 0.2}, 1000, True)
    ),
)
WITHOUT_EVENTS = {
    "traced": 3,
    "tasks_without_events": 20,
    "without_events": [{"class_name": "Replica", "tasks": 20}],
}
NO_SERVER = ServerFacts()
STRANGER = ServerFacts(URL, version="0.1.0", health={"status": "ok"}, known=False)


def facts(*nodes: Node, **changes: Any) -> Facts:
    return replace(WHOLE, nodes=nodes or WHOLE.nodes, **changes)


def server(**changes: Any) -> ServerFacts:
    return replace(SERVER, recording={**SERVER.recording, **changes})


def node(base: Node = NODE, **changes: Any) -> Node:
    """A node on no fast lane; ``env_*`` change its settings."""
    env = {name[4:]: changes.pop(name) for name in list(changes) if name.startswith("env_")}
    if env and base.env:
        changes["env"] = replace(base.env, **env)
    return replace(
        base, **{"lane": "none", "lane_code": "no_events", "agent": None, "us_an_event": None, **changes}
    )


def test_versions_are_noted_and_leave_the_recording_complete() -> None:
    other = {"code": "other_agent", "message": "1 node runs rayscope-agent 9.", "remedy": "Install the same."}
    untested = {"code": "untested_ray", "message": "as the server says", "remedy": ""}
    noted = facts(ray_version="2.61.0", server=server(lanes={"versions": [other, untested]}))
    sentences = [
        "Ray 2.61 is newer than the newest tested version (2.60).",
        "1 node runs rayscope-agent 9. Install the same.",
    ]
    assert as_json(noted, judge(noted))["notes"] == sentences
    console = Console(file=io.StringIO(), width=100)
    show(console, noted, judge(noted))
    text = console.file.getvalue()
    assert [text.count(sentence) for sentence in sentences] == [1, 1]
    assert "Recording is complete." in text
    assert as_json(WHOLE, judge(WHOLE))["notes"] == []


def test_a_python_without_debugpy_is_noted(tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", symlinks=True)
    python = str(tmp_path / "bare" / "bin" / "python")
    assert [has_debugpy(one) for one in (sys.executable, python, str(tmp_path))] == [True, False, None]
    noted = facts(replace(NODE, python=python, debugpy=False), replace(REMOTE, debugpy=None))
    (note,) = as_json(noted, judge(noted))["notes"]
    assert "breakpoint() only logs a line" in note
    assert note.endswith(f"{python} -m pip install debugpy")
    assert "10.0.0.2" not in note
    assert as_json(facts(replace(NODE, debugpy=True)), [])["notes"] == []


def part(known: Facts, name: str) -> Finding:
    return next(finding for finding in judge(known) if finding.part == name)


def unlanded(known: Facts) -> Facts:
    """As when no server knows the session."""
    nodes = tuple(replace(one, lane=None, lane_code=None, agent=None) for one in known.nodes)
    return replace(known, nodes=nodes)


PLAIN = node(env=NodeEnv())
START = "rayscope start -- --head --port=6379"
DOCTOR = "rayscope doctor 10.0.0.1:6379"

CASES: dict[str, tuple[Facts, str, str, str]] = {
    # The server.
    "no server": (unlanded(facts(PLAIN, server=NO_SERVER)), "server", "off", "rayscope serve"),
    "no server where the nodes send": (
        *(unlanded(facts(NODE, server=NO_SERVER)), "server", "off"),
        "rayscope serve --port 8700",
    ),
    "no server for a named directory": (
        *(unlanded(facts(PLAIN, server=NO_SERVER, data_dir="/d")), "server", "off"),
        "rayscope serve --data-dir /d",
    ),
    "the server is not there": (
        facts(server=ServerFacts(URL, "No Rayscope server answers.", "Start one: rayscope serve")),
        *("server", "off", "rayscope serve"),
    ),
    "the server wants a token": (
        facts(server=ServerFacts(URL, "No token.", "Give the server's token with --token.", "0.1.0")),
        *("server", "unknown", "Give the server's token with --token."),
    ),
    "the server cannot write": (
        facts(
            server=replace(
                SERVER,
                health={"status": "degraded", "error": {"message": "Disk full.", "remedy": "Free some."}},
            )
        ),
        *("server", "partly", "Free some."),
    ),
    "the server does not know the session": (
        *(unlanded(facts(PLAIN, server=STRANGER)), "server", "partly"),
        "rayscope attach 10.0.0.1:6379",
    ),
    "the events go to another server": (
        unlanded(facts(node(env_export_to="http://10.0.0.9:8700"), server=STRANGER)),
        *("server", "partly", f"{DOCTOR} --server http://10.0.0.9:8700"),
    ),
    "batches were rejected": (
        facts(server=replace(SERVER, ingest={"rejected_batches": 2})),
        *("server", "partly", "They are in rejected/"),
    ),
    # The export.
    "started without recording": (
        unlanded(facts(PLAIN, server=NO_SERVER)),
        *("export of events", "off", "rayscope attach 10.0.0.1:6379"),
    ),
    "in snapshots": (facts(PLAIN, server=server(recording="snapshot")), "export of events", "off", START),
    "no server takes the events": (
        unlanded(facts(NODE, server=NO_SERVER)),
        *("export of events", "partly", "See the server above"),
    ),
    "the wrong server was asked": (
        unlanded(facts(NODE, server=ServerFacts("http://127.0.0.1:9", "Not there."))),
        *("export of events", "partly", f"{DOCTOR} --server {URL}"),
    ),
    "all nodes are elsewhere and silent": (
        facts(node(REMOTE), server=STRANGER),
        *("export of events", "unknown", DOCTOR),
    ),
    "one of two sends": (
        facts(NODE, node(REMOTE)),
        "export of events",
        "partly",
        "See the lanes below.",
    ),
    "events were dropped": (
        facts(server=server(dropped={**DROPPED, "total": 9, "repaired_total": 4})),
        *("export of events", "partly", "RAYSCOPE_AGENT_BUFFER_BYTES"),
    ),
    "lost events were read again": (
        facts(server=server(dropped={**DROPPED, "total": 9, "repaired_total": 9})),
        *("export of events", "on", ""),
    ),
    "tasks are not exported": (
        facts(replace(NODE, env=replace(ENV, worker_events=False)), config={}),
        *("export of events", "partly", START),
    ),
    "actors are not exported": (
        facts(
            replace(NODE, env=replace(ENV, cluster_events=False)), config={recording.WORKER_EVENTS: "true"}
        ),
        *("export of events", "partly", START),
    ),
    "switched on by the environment, a driver without": (
        facts(NODE, config={}, drivers=(Driver(7, worker_events=False, profiling=True),)),
        *("export of events", "partly", "rayscope run SCRIPT"),
    ),
    "switched on by the environment, of the driver too": (
        facts(NODE, config={}, drivers=(Driver(7, worker_events=True, profiling=True),)),
        *("export of events", "on", ""),
    ),
    # The lanes.
    "lane not told by any server": (unlanded(facts(server=NO_SERVER)), "lane", "unknown", "See the server"),
    "started without recording, no server": (
        *(unlanded(facts(PLAIN, server=NO_SERVER)), "lane", "off"),
        START,
    ),
    "json: the Python of Ray has no rayscope-agent": (
        facts(node(lane="json", lane_code="not_installed")),
        *("lane", "partly", "/opt/ray/bin/python -m pip install rayscope-agent"),
    ),
    "json: not wanted": (
        facts(node(lane="json", lane_code="not_installed", env_fast_lane=False)),
        *("lane", "partly", START),
    ),
    "json: elsewhere": (
        facts(node(replace(REMOTE, agent=None), lane="json", lane_code="not_installed")),
        *("lane", "partly", "python -m pip install rayscope-agent"),
    ),
    "json: a Ray that is not known": (
        facts(
            node(lane="json", lane_code="agent_said", lane_reason="it works in another way than those known")
        ),
        *("lane", "partly", "/opt/ray/bin/python -m pip install --upgrade rayscope-agent"),
    ),
    "json: kinds left out": (
        facts(node(lane="json", lane_code="agent_said", lane_reason="EXPOSABLE_TYPES leaves out X")),
        *("lane", "partly", START),
    ),
    "json: a fault": (
        facts(node(lane="json", lane_code="agent_said", lane_reason="a fault of Rayscope: X")),
        *("lane", "partly", "dashboard_agent.log"),
    ),
    "none: a worker node without recording": (
        facts(node(env=NodeEnv(), head=False)),
        *("lane", "off", "rayscope start -- --address=10.0.0.1:6379"),
    ),
    "none: elsewhere": (facts(node(REMOTE)), "lane", "off", f"{DOCTOR} --server {URL}"),
    "none: no agent": (
        facts(node(agent_pid=None)),
        *("lane", "off", "/opt/ray/bin/python -m pip install 'ray[default]'"),
    ),
    "none: another server": (
        facts(node(env_export_to="http://10.0.0.9:1")),
        *("lane", "off", f"{DOCTOR} --server http://10.0.0.9:1"),
    ),
    "none: another key": (facts(node(env_key_fits=False)), "lane", "off", START),
    "none: nothing yet": (facts(node()), "lane", "off", "dashboard_agent.log"),
    "the agent cannot send": (
        facts(replace(NODE, agent={"trouble": "OSError", "waiting": 5})),
        *("lane", "partly", "Check that these nodes can reach the server."),
    ),
    # Spans.
    "no spans": (facts(replace(NODE, env=replace(ENV, profiling=False))), "profile spans", "off", START),
    "spans here and there": (
        facts(NODE, replace(NODE, env=replace(ENV, profiling=False))),
        *("profile spans", "partly", START),
    ),
    "a driver without spans": (
        facts(drivers=(Driver(7, worker_events=True, profiling=False),)),
        *("profile spans", "partly", "rayscope run SCRIPT"),
    ),
    "spans of nodes elsewhere": (facts(REMOTE), "profile spans", "on", ""),
    "unknown spans": (facts(REMOTE, server=server(spans=0)), "profile spans", "unknown", DOCTOR),
    # Snapshots, and what is not there.
    "the GCS cannot be read": (
        facts(reading=Reading(error="It did not answer.", remedy="Try again.")),
        *("snapshot fallback", "off", "Try again."),
    ),
    "the server cannot read the GCS": (
        facts(server=server(snapshots={"ok": False, "error": "It wants a token.", "remedy": "Set it."})),
        *("snapshot fallback", "partly", "Set it."),
    ),
    # The tracer.
    "no tracer on the nodes": (facts(node(env_trace=False)), "tracer", "off", START),
    "no tracer on some": (facts(NODE, node(env_trace=False)), "tracer", "partly", START),
    "workers without rayscope": (
        facts(server=server(tracing={"traced": 3, "untraced": 1})),
        *("tracer", "partly", "pip install rayscope-agent"),
    ),
    "a tracer that went off": (
        facts(server=server(tracing={"traced": 3, "said": [{"text": "off: get: KeyError", "workers": 1}]})),
        *("tracer", "partly", "Please report this"),
    ),
    "a driver without the tracer": (
        facts(drivers=(Driver(7, worker_events=True, profiling=True, trace=False),)),
        *("tracer", "partly", "rayscope run SCRIPT"),
    ),
    "Serve's events are off": (
        facts(NODE, node(env_serve_events=False), server=server(tracing=WITHOUT_EVENTS)),
        *("task events", "partly", START),
    ),
    "a user's code has switched events off": (
        facts(server=server(tracing=WITHOUT_EVENTS)),
        *("task events", "partly", "Remove it"),
    ),
    "the tracer": (WHOLE, "tracer", "on", ""),
    "the tracer, nothing ran": (facts(server=server(tracing={})), "tracer", "on", ""),
    "a tracer elsewhere": (facts(REMOTE, server=server(tracing={})), "tracer", "unknown", DOCTOR),
}


@pytest.mark.parametrize("case", CASES)
def test_each_case_has_its_state_and_its_remedy(case: str) -> None:
    known, name, state, remedy = CASES[case]
    finding = part(known, name)
    assert finding.state == state, finding
    shown = finding.command or finding.remedy
    assert shown == remedy if finding.command else remedy in shown, finding
    assert bool(shown) == bool(remedy)
    assert is_whole(judge(known)) is (state in ("on",))


def test_a_whole_recording_with_its_costs() -> None:
    findings = judge(WHOLE)
    assert is_whole(findings)
    assert not any(finding.remedy or finding.command for finding in findings)
    costs = {finding.part: finding.cost for finding in findings}
    assert costs["server"].startswith("200 µs a task")
    assert "agents 40 µs a task, raylets 30 µs a task, GCS 50 µs a task" in costs["export of events"]
    assert "including Ray's own work" in costs["export of events"]
    assert "4.2 events per task" in costs["export of events"]
    assert (
        costs["lane"]
        == "2.5 to 3.5 µs per event for Rayscope's code in the agent, on average since it started."
    )
    assert costs["profile spans"].startswith("1.0 spans per task")
    assert costs["snapshot fallback"].startswith("50 ms")
    assert "50 µs a task" in costs["snapshot fallback"]


def test_a_quiet_cluster_has_no_figures_for_a_task() -> None:
    quiet = facts(measured=Measured(4.0, 0, 0, {"agent": 0.04, "server": 0.2}))
    assert is_whole(judge(quiet))
    assert part(quiet, "server").cost.startswith("5.0 % of a CPU")
    assert "agents 1.0 % of a CPU" in part(quiet, "export of events").cost
    assert "--probe runs 1,000 no-op tasks" in _shown(quiet)


def test_nodes_that_share_a_reason_are_told_together() -> None:
    nodes = [node(REMOTE, node_id=f"{number:056x}") for number in range(500)]
    lanes = [finding for finding in judge(facts(NODE, *nodes)) if finding.part == "lane"]
    assert [finding.state for finding in lanes] == ["on", "off"]
    assert "and 497 more nodes" in lanes[1].says


def _shown(known: Facts) -> str:
    out = io.StringIO()
    show(Console(file=out, width=80, highlight=False), known, judge(known))
    return out.getvalue()


@pytest.mark.parametrize("case", CASES)
def test_the_text_fits_80_columns_and_commands_stay_on_one_line(case: str) -> None:
    known = CASES[case][0]
    text = _shown(known)
    commands = [finding.command for finding in judge(known) if finding.command]
    for line in text.splitlines():
        assert len(line) <= 80 or line.strip() in commands
        assert line == line.rstrip()
    assert all(f"\n    {command}\n" in text for command in commands)


def test_the_json_holds_findings_and_facts() -> None:
    report = json.loads(json.dumps(as_json(WHOLE, judge(WHOLE))))
    assert report["whole"] is True
    assert [one["part"] for one in report["findings"]][:2] == ["server", "export of events"]
    assert report["facts"]["nodes"][0]["us_an_event"] == 2.5
    assert report["facts"]["measured"]["ended"] == 1000


def test_an_environment_is_read_and_its_key_is_not_shown() -> None:
    ours = f"{URL}/api/ingest/SECRET/ray-events"
    env = node_env(recording.node_env(ours), "SECRET")
    assert env == ENV
    assert "SECRET" not in repr(env)
    assert node_env(recording.node_env(ours), "OTHER").key_fits is False
    assert node_env(recording.node_env(ours)).key_fits is None
    assert node_env({}) == NodeEnv()
    other = node_env(
        {EXPORT_ADDR: "https://user:pw@[::1]:9/x", "RAY_enable_ray_event": "0", "RAY_PROFILING": "0"}
    )
    assert (other.export_to, other.ours, other.cluster_events, other.profiling) == (
        "https://[::1]:9",
        False,
        False,
        True,
    )


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (URL, "http://localhost:8700/x", True),
        (URL, "http://127.0.0.1:8701", False),
        (URL, "http://192.0.2.77:8700", False),
        ("http://h:1", "http://h:1/y", True),
        ("nothing", URL, False),
        ("http://h:99999", URL, False),
    ],
)
def test_two_names_of_one_place(first: str, second: str, same: bool) -> None:
    assert same_place(first, second) is same


def test_places_have_no_secrets() -> None:
    assert place("http://u:p@host:1/api/ingest/KEY/ray-events") == "http://host:1"
    assert place("https://host/rayscope/api/ingest/KEY/ray-events") == "https://host/rayscope"
    assert place("") == ""


def test_counters_of_an_agent() -> None:
    lines = [
        'ray_aggregator_agent_events_received_total{ip="1",pid="2"} 4300.0',
        'ray_aggregator_agent_published_events_total{consumer="http_service"} 4000.0',
        'ray_aggregator_agent_queue_dropped_events_total{consumer="http_service"} 7.0',
        "ray_other_events_received_total 5",
    ]
    assert parse_counters(lines) == {"received": 4300, "published": 4000, "lost": 7}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["http://x:8265"], "web address"),
        (["127.0.0.1:1"], "Check that the cluster is running"),
        (["127.0.0.1:1", "--server", "nohost"], "is not a valid URL"),
        (["127.0.0.1:1", "--seconds", "0"], "seconds"),
    ],
)
def test_wrong_use_ends_with_2_and_a_remedy(args: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["doctor", *args])
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_the_server_is_asked_for_the_key_where_it_is_unknown_here(tmp_path: Path) -> None:
    server = Server(Settings(data_dir=tmp_path, port=0))
    server.start()
    try:
        right, wrong = server.ingest_url, f"{server.url}/api/ingest/{'w' * 24}/ray-events"
        other_server = "http://192.0.2.9:8700/api/ingest/secret-of-another/ray-events"

        def accepted(*exports: str) -> str:
            return collect._accepted_key(server.url, None, SimpleNamespace(exports=lambda: exports))  # type: ignore[arg-type]

        key = right.split("/")[5]
        assert accepted(wrong, right, other_server) == key
        assert accepted(other_server) == ""
        assert accepted() == ""
        unfit = accepted(wrong)
        environ = {EXPORT_ADDR: wrong}
        assert node_env(environ, unfit).key_fits is False
    finally:
        server.stop()
