"""Asking raylets for what their processes hold: shares of the references, and nodes that do not answer."""

from __future__ import annotations

from tests.raylets import HELD, raylets_of

from rayscope.ray.objects import NodeObjects, living_raylets, read_objects


def test_many_nodes_share_what_is_read() -> None:
    with raylets_of(False, False) as gcs:
        read = [len(node.references) for node in read_objects(gcs, 1000, 1000)]
        assert read == [HELD, HELD]
        shared = read_objects(gcs, 1000, 300)
        assert [(len(node.references), node.references_total) for node in shared] == [(150, HELD)] * 2
        (one,) = read_objects(gcs, 1000, 300, raylets=living_raylets(gcs)[1:])
        assert (one.node_id[:2], len(one.references)) == ("01", HELD)


def test_nodes_that_hang_cost_the_deadline_alone() -> None:
    with raylets_of(True, False) as gcs:
        nodes: list[NodeObjects] = []
        found = read_objects(gcs, 1000, 1000, deadline_s=3, on_node=nodes.append)
    assert [node.error for node in found] == ["DEADLINE_EXCEEDED", None]
    assert len(found[1].references) == HELD
    assert [node.node_id[:2] for node in nodes] == ["01", "00"]  # as they come
