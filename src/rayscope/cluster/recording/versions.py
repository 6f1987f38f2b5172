"""Finds versions of Ray and rayscope-agent in a cluster that do not match this server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rayscope.cluster.recording import schemas
from rayscope.ray.versions import NEWEST_TESTED, untested, version_note
from rayscope.version import __version__

#: Maximum number of other versions of the agent that are listed. Those on the most nodes come first.
_MAX_VERSIONS = 10


def version_notes(items: Iterable[schemas.NodeLane], ray_version: str | None) -> list[schemas.VersionNote]:
    """An item for each notable version of Ray or rayscope-agent."""
    agents = [item["agent"] for item in items if item["agent"]]
    versions = Counter(agent["rayscope_version"] for agent in agents)
    others = [
        (version, nodes) for version, nodes in versions.most_common() if version not in ("", __version__)
    ]
    notes = [_other_agent(version, nodes) for version, nodes in others[:_MAX_VERSIONS]]
    reported = {newer for agent in agents if (newer := untested(agent["ray_version"]))}
    if newer := untested(ray_version) or max(reported, default=None):
        notes.append(
            {
                "code": "untested_ray",
                "version": newer,
                "ours": NEWEST_TESTED,
                "nodes": None,
                "message": version_note(newer),
                "remedy": "If something is missing, look for a newer version of Rayscope.",
            }
        )
    return notes


def _other_agent(version: str, nodes: int) -> schemas.VersionNote:
    where = "1 node runs" if nodes == 1 else f"{nodes:,} nodes run"
    return {
        "code": "other_agent",
        "version": version,
        "ours": __version__,
        "nodes": nodes,
        "message": f"{where} rayscope-agent {version}, but this server is rayscope {__version__}.",
        "remedy": "Install the same version of both, then restart Ray on those nodes.",
    }
