"""The reservations of tasks and actors on nodes, and the locations of placement groups at one time.

Ray rewrites the requirements of a task or actor in a placement group: ``CPU`` becomes ``CPU_group_ID`` and,
if it requested a specific bundle, ``CPU_group_INDEX_ID`` too (``AddPlacementGroupConstraint`` in
``bundle_spec.cc``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

_IN_GROUP = re.compile(r"(.+)_group_(?:(\d{1,18})_)?([0-9a-f]{36})")
#: Ray's marker resources, which identify a node or a bundle and are not used up.
_MARK = re.compile(r"node:|bundle$")

Resources = dict[str, float]


class Reservation(NamedTuple):
    """Reserved resources, with the placement group and (if requested) the bundle that contain them."""

    resources: Resources
    group: str | None = None
    bundle: int | None = None


def reservation(text: str | None) -> Reservation:
    """The requirements of a task or actor (``required_resources``, JSON), with plain names of resources."""
    plain: Resources = {}
    group: str | None = None
    index: int | None = None
    for name, amount in _resources(text).items():
        found = _IN_GROUP.fullmatch(name)
        if found is not None:
            name, number, group = found.groups()
            if number is not None:
                index = int(number)
        if not _MARK.match(name):
            plain[name] = amount
    return Reservation(plain, group, index)


def total_of(text: str | None) -> Resources | None:
    """A node's resources (``resources_total``, JSON) without Ray's marker resources, or None if unknown."""
    if not text:
        return None
    return {name: amount for name, amount in _resources(text).items() if not _MARK.match(name)}


def _resources(text: str | None) -> Resources:
    try:
        found = msgspec.json.decode(text or "{}")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        str(name): float(amount)
        for name, amount in found.items()
        if isinstance(amount, (int, float)) and not isinstance(amount, bool) and 0 < amount < 2**62
    }


class Group(msgspec.Struct, frozen=True):
    """A placement group and its bundles: (index, node, resources or None if unknown)."""

    id: str
    name: str | None
    bundles: tuple[tuple[int, str, Resources | None], ...]

    def on(self, node_id: str) -> Group:
        """A copy of the group with only the bundles on one node."""
        return Group(self.id, self.name, tuple(one for one in self.bundles if one[1] == node_id))


def group_at(identity: str, doc: Sequence[Any], at_ns: int, job_end_ns: int | None) -> Group | None:
    """The placement group as of a time, or None if it did not exist or was not placed yet.

    ``doc``: its fields, its transitions (ns, state, details), and its observations. ``job_end_ns``: when its
    creator's job ended, which removes it unless it is detached.
    """
    fields, transitions, observed_ns, observed = doc
    created = [time_ns for time_ns, state, _ in transitions if state == "CREATED"]
    since = min(created, default=fields.get("created_ns") or 0)
    gone = [time_ns for time_ns, state, _ in transitions if state == "REMOVED"]
    if not gone and observed.get("state") == "REMOVED":
        gone.append(observed_ns)
    if job_end_ns is not None and not fields.get("is_detached"):
        gone.append(job_end_ns)
    if since > at_ns or min(gone, default=at_ns + 1) <= at_ns:
        return None
    observed_bundles = {bundle["index"]: bundle for bundle in _list(observed.get("bundles"))}
    places = {index: bundle.get("node_id") for index, bundle in observed_bundles.items()}
    for time_ns, _, extra in sorted(transitions, key=lambda one: (one[0], one[1])):
        if time_ns <= at_ns and "placements" in extra:
            places.update({one["index"]: one.get("node_id") for one in _list(extra["placements"])})
    bundles = tuple(
        (index, node, observed_bundles.get(index, {}).get("resources"))
        for index, node in sorted(places.items())
        if node
    )
    return Group(identity, fields.get("name"), bundles) if bundles else None


def _list(text: Any) -> list[dict[str, Any]]:
    found = msgspec.json.decode(text) if isinstance(text, str) and text else []
    return [one for one in found if isinstance(one, dict) and isinstance(one.get("index"), int)]
