"""What is said of Ray Serve."""

from __future__ import annotations

from typing import Any, Literal

from rayscope.api.schemas import Answer
from rayscope.libraries.schemas import LibraryProblem


class ServeChange(Answer):
    """A change of state, when it was seen, and why in Serve's words."""

    time_ns: int
    state: str
    trigger: str | None
    reason: str | None


class ServeDeploymentItem(Answer):
    """A deployment. ``since_ns``: when it was first seen in its state; ``end_known_by``: ``session`` where
    its end is inferred, and ``last_state`` then the last that Serve told. ``replicas``: how many of all that
    ever were are in which state. ``calls``: ids of the deployments that it calls, None where this Ray does
    not say.
    """

    deployment_id: str
    name: str
    application: str
    state: str | None
    last_state: str | None
    since_ns: int | None
    end_ns: int | None
    end_known_by: Literal["session"] | None
    status_trigger: str | None
    message: str | None
    target_replicas: int | None
    running_replicas: int
    replicas: dict[str, int]
    is_ingress: bool | None
    calls: list[str] | None


class ServeDeployment(ServeDeploymentItem):
    """A deployment as it was configured. The documents are Serve's own, without secrets; one that is too
    long to be kept says so in ``left_out``. ``autoscaling``: what the autoscaler says, with its newest
    decisions.
    """

    required_resources: dict[str, Any] | None
    config: dict[str, Any] | None
    autoscaling: dict[str, Any] | None
    history: list[ServeChange]


class ServeApplicationItem(Answer):
    """An application with its deployments. ``name`` identifies it. Times as in ServeDeploymentItem."""

    name: str
    state: str | None
    last_state: str | None
    since_ns: int | None
    end_ns: int | None
    end_known_by: Literal["session"] | None
    message: str | None
    route_prefix: str | None
    docs_path: str | None
    source: str | None
    deployed_ns: int | None
    deployments: list[ServeDeploymentItem]


class ServeReplica(Answer):
    """A replica. ``log_file`` is relative to the folder of logs of its node; ``death_reason`` and
    ``death_cause``: why its actor is dead. ``start_error``: what its constructor raised, with the traceback.
    """

    replica_id: str
    name: str
    application: str
    deployment: str
    state: str | None
    actor_id: str | None
    node_id: str | None
    node_ip: str | None
    worker_id: str | None
    pid: int | None
    log_file: str | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: Literal["session"] | None
    death_reason: str | None
    death_cause: str | None
    start_error: str | None


class ServeProxy(Answer):
    """The proxy of a node."""

    node_id: str
    state: str | None
    last_state: str | None
    since_ns: int | None
    end_ns: int | None
    end_known_by: Literal["session"] | None
    actor_id: str | None
    node_ip: str | None
    worker_id: str | None
    log_file: str | None
    history: list[ServeChange]


class ServeController(Answer):
    """A controller. ``health``: whether it keeps up, to two digits; times as Serve names them (s, ms)."""

    actor_id: str
    state: str | None
    last_state: str | None
    since_ns: int | None
    node_id: str | None
    node_ip: str | None
    worker_id: str | None
    log_file: str | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: Literal["session"] | None
    proxy_location: str | None
    http_options: dict[str, Any] | None
    grpc_options: dict[str, Any] | None
    health: dict[str, float] | None
    history: list[ServeChange]


class ServePage(Answer):
    """Serve in a session. ``problem``: why what is shown may be out of date."""

    session: str
    items: list[ServeApplicationItem]
    total: int
    proxies: list[ServeProxy]
    controllers: list[ServeController]
    problem: LibraryProblem | None


class ServeCalls(Answer):
    """Calls of one deployment (its id) by another, as the tracer counted them. ``errors``: those whose caller
    got an error. Quantiles: from the call to its end, within 6 %.
    """

    caller: str
    callee: str
    calls: int
    errors: int
    p50_ns: int | None
    p95_ns: int | None
    p99_ns: int | None


class ServeRequestStep(Answer):
    """A part of a request: in the proxy (``deployment`` is None), or a call of a deployment.

    ``depth``: how many callers it has. ``begin_ns`` and ``end_ns``: of the call, or of the replica's part
    where nobody told of the call. ``queue_ns``: until a replica took it. ``replica_ns``: how long the replica
    had it, None where it did not tell; for ``downstream_ns`` of that a call of its own was under way, of
    ``call_count``. ``error``: the class of the exception. ``log_file`` as in ServeReplica.
    """

    application: str
    deployment: str | None
    depth: int
    begin_ns: int
    end_ns: int
    queue_ns: int | None
    replica_ns: int | None
    downstream_ns: int | None
    call_count: int
    method: str | None
    status: str | None
    failed: bool
    error: str | None
    actor_id: str | None
    node_id: str | None
    log_file: str | None


class ServeRequest(Answer):
    """A request. ``request_id``: as its client sees it. ``total_ns`` is the sum of ``proxy_ns``,
    ``queue_ns``, ``replica_ns`` and ``downstream_ns``. What is not known of these is None: the first two
    where the request came through no proxy, all but ``queue_ns`` where the replica did not tell of it.
    """

    request: str
    request_id: str
    time_ns: int
    total_ns: int
    proxy_ns: int | None
    queue_ns: int | None
    replica_ns: int | None
    downstream_ns: int | None
    route: str
    method: str
    status: str
    failed: bool
    error: str | None
    deployments: list[str]
    steps: list[ServeRequestStep]


class ServeRequestPage(Answer):
    """Slow and failed requests of an application, of ``total`` on record. ``left_out``: at least this many
    others were only counted.
    """

    session: str
    items: list[ServeRequest]
    total: int
    left_out: int


class ServeApplicationAnswer(ServeApplicationItem):
    """One application. ``replicas``: those that live first, then the newest, of ``replicas_total``.
    ``edges``: the calls of its deployments that the tracer counted.
    """

    deployments: list[ServeDeployment]  # type: ignore[assignment]
    config: dict[str, Any] | None
    history: list[ServeChange]
    replicas: list[ServeReplica]
    replicas_total: int
    edges: list[ServeCalls]
    session: str
