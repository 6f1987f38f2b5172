"""Schemas of Ray Serve."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

from rayscope.libraries.schemas import LibraryPage


class ServeChange(TypedDict):
    """A change of state, when it was observed, and the reason in Serve's words."""

    time_ns: int
    state: str
    trigger: str | None
    reason: str | None


class ServeDeploymentItem(TypedDict):
    """A deployment.

    ``since_ns``: when it was first observed in its state. ``end_known_by``: ``session`` if its end is
    inferred; ``last_state`` is then the last state that Serve reported. ``replicas``: the number of replicas
    by state, including dead ones. ``calls``: the IDs of the deployments that it calls, None if this version
    of Ray does not report them.
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
    """A deployment with its configuration.

    The documents are Serve's own, without secrets. ``left_out``: set if a document was too long to be stored.
    ``autoscaling``: the state of the autoscaler with its newest decisions.
    """

    required_resources: dict[str, Any] | None
    config: dict[str, Any] | None
    autoscaling: dict[str, Any] | None
    history: list[ServeChange]


class _ApplicationFields(TypedDict):
    """The fields of an application, except its deployments."""

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


class ServeApplicationItem(_ApplicationFields):
    """An application with its deployments. ``name`` identifies it. Times as in ServeDeploymentItem."""

    deployments: list[ServeDeploymentItem]


class ServeApplication(_ApplicationFields):
    """An application with its configuration and that of its deployments."""

    deployments: list[ServeDeployment]
    config: dict[str, Any] | None
    history: list[ServeChange]


class ServeReplica(TypedDict):
    """A replica.

    ``log_file``: relative to the log folder of its node. ``death_reason`` and ``death_cause``: why its actor
    died. ``start_error``: the exception of its constructor, with the traceback.
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


class _ProcessFields(TypedDict):
    """Fields of an actor of Serve itself, except those that identify it. Times as in ServeDeploymentItem."""

    state: str | None
    last_state: str | None
    since_ns: int | None
    end_ns: int | None
    end_known_by: Literal["session"] | None
    node_ip: str | None
    worker_id: str | None
    log_file: str | None
    history: list[ServeChange]


class ServeProxy(_ProcessFields):
    """The proxy of a node."""

    node_id: str
    actor_id: str | None


class ServeController(_ProcessFields):
    """A controller. ``health``: how well it keeps up, to two significant digits. The names are Serve's; those
    of times end in the unit (s, ms).
    """

    actor_id: str
    node_id: str | None
    start_ns: int | None
    proxy_location: str | None
    http_options: dict[str, Any] | None
    grpc_options: dict[str, Any] | None
    health: dict[str, float] | None


class ServePage(LibraryPage):
    """The state of Serve in a session. ``problem``: why the data may be out of date."""

    items: list[ServeApplicationItem]
    proxies: list[ServeProxy]
    controllers: list[ServeController]


class ServeCalls(TypedDict):
    """Calls from one deployment to another, both given by ID, as counted by the tracer.

    ``errors``: the number of calls whose caller got an error. The quantiles are those of the duration of a
    call, accurate to 6 %.
    """

    caller: str
    callee: str
    calls: int
    errors: int
    p50_ns: int | None
    p95_ns: int | None
    p99_ns: int | None


class ServeRequestStep(TypedDict):
    """A part of a request: in the proxy (``deployment`` is None), or a call of a deployment.

    ``depth``: the number of its callers. ``begin_ns`` and ``end_ns``: those of the call, or of the replica's
    part if the call is not recorded. ``queue_ns``: the time until a replica took it. ``replica_ns``: how long
    the replica processed it, None if the replica did not report it; this includes ``downstream_ns``, during
    which some of its own ``call_count`` calls were running. ``error``: the class of the exception.
    ``log_file`` as in ServeReplica.
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


class ServeRequest(TypedDict):
    """A request.

    ``request_id``: the ID that its client sees. ``total_ns`` is the sum of ``proxy_ns``, ``queue_ns``,
    ``replica_ns`` and ``downstream_ns``. Unknown parts are None: the first two if the request did not come
    through a proxy, all except ``queue_ns`` if the replica did not report it. ``traceparent``: the client's
    span (W3C Trace Context), if it named one.
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
    traceparent: str | None
    deployments: list[str]
    steps: list[ServeRequestStep]


class ServeRequestPage(TypedDict):
    """Slow and failed requests of an application, and the number of them in the record.

    ``left_out``: at least this many other requests were only counted.
    """

    session: str
    items: list[ServeRequest]
    total: int
    left_out: int


class ServeApplicationAnswer(ServeApplication):
    """A single application.

    ``replicas``: some of the ``replicas_total``: live ones first, then the newest. ``edges``: the calls
    between its deployments that the tracer counted.
    """

    replicas: list[ServeReplica]
    replicas_total: int
    edges: list[ServeCalls]
    session: str
