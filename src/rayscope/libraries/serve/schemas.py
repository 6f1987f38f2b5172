"""What is said of Ray Serve."""

from __future__ import annotations

from typing import Any, Literal

from rayscope.libraries.schemas import LibraryProblem
from rayscope.server.schemas import Answer


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
    ``death_cause``: why its actor is dead.
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


class ServeApplicationAnswer(ServeApplicationItem):
    """One application. ``replicas``: those that live first, then the newest, of ``replicas_total``."""

    deployments: list[ServeDeployment]  # type: ignore[assignment]
    config: dict[str, Any] | None
    history: list[ServeChange]
    replicas: list[ServeReplica]
    replicas_total: int
    session: str
