"""Reservations, and how the placement of nodes and workers is cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rayscope.cluster.placement import schemas
from rayscope.cluster.placement.compute import (
    Bundle,
    Node,
    NodeRow,
    Placement,
    WorkerRow,
    Workers,
    build_placement,
)
from rayscope.cluster.placement.reservations import Group, group_at, reservation, total_of

GROUP = "ab" * 18


def test_a_reservation_in_a_placement_group_has_its_plain_names() -> None:
    one = reservation(f'{{"GPU_group_12_{GROUP}":1,"GPU_group_{GROUP}":1,"bundle_group_{GROUP}":0.001}}')
    assert one == ({"GPU": 1.0}, GROUP, 12)
    anywhere = reservation(f'{{"my_group_x_group_{GROUP}":2}}')
    assert anywhere == ({"my_group_x": 2.0}, GROUP, None)
    assert reservation('{"CPU":0.5,"disk_group_1":1}') == ({"CPU": 0.5, "disk_group_1": 1.0}, None, None)
    assert reservation("no json") == reservation(None) == ({}, None, None)
    assert total_of('{"CPU":4,"node:10.0.0.1":1}') == {"CPU": 4.0}
    assert total_of(None) is None
    assert total_of('{"CPU":' + "[" * 5000) == {}


def test_a_placement_group_is_at_its_last_reported_place() -> None:
    observed = {"state": "REMOVED", "bundles": '[{"index":0,"node_id":"b","resources":{"CPU":1}}]'}
    moves = [
        [10, "CREATED", {"placements": '[{"index":0,"node_id":"a"}]'}],
        [20, "CREATED", {"placements": '[{"index":0,"node_id":"b"}]'}],
    ]
    doc = [{"name": "g", "created_ns": 5}, moves, 40, observed]

    def places(at: int, job_end: int | None = None) -> list[tuple[int, str]] | None:
        group = group_at("g", doc, at, job_end)
        return None if group is None else [(index, node) for index, node, _ in group.bundles]

    assert places(9) is None
    assert places(15) == [(0, "a")]
    assert places(39) == [(0, "b")]
    assert places(40) is None
    assert places(30, job_end=25) is None


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 2)), max_size=40),
    st.integers(1, 8),
    st.integers(1, 50),
)
def test_sums_are_of_all_whatever_is_cut(
    rows: list[tuple[int, int, int]], max_nodes: int, max_workers: int
) -> None:
    workers = [
        WorkerRow(
            f"{number:056d}",
            f"n{node}",
            running=running,
            tasks=((f'{{"CPU":{cpus}}}', False),) if cpus else (),
        )
        for number, (node, running, cpus) in enumerate(rows)
    ]
    placement = build_placement([NodeRow("n0")], workers, [], max_nodes=max_nodes, max_workers=max_workers)
    assert placement.workers_total == len(rows)
    assert placement.nodes_total == len({"n0"} | {f"n{node}" for node, _, _ in rows})
    assert len(placement.nodes) == min(max_nodes, placement.nodes_total)
    for at, node in enumerate(placement.nodes):
        mine = [row for row in rows if f"n{row[0]}" == node.node_id]
        assert node.running == sum(running for _, running, _ in mine)
        assert node.used.get("CPU", 0) == sum(cpus for _, _, cpus in mine)
        assert placement.workers.node.count(at) + node.left_out == node.workers == len(mine)
        assert placement.workers.node.count(at) or not mine
    if len(placement.nodes) <= max_workers:
        assert len(placement.workers.key) <= max_workers
    again = build_placement([NodeRow("n0")], workers[::-1], [], max_nodes=max_nodes, max_workers=max_workers)
    assert again == placement


def test_workers_without_a_bundle_are_in_the_first_of_their_group() -> None:
    group = Group(GROUP, "g", ((0, "n", None), (1, "n", None)))
    text = f'{{"CPU_group_{GROUP}":1}}'
    placement = build_placement([], [WorkerRow("0" * 56, "n", actor_resources=text)], [group])
    assert [placement.bundles[at].index for at in placement.workers.bundle] == [0]
    # The size of the bundles was not reported: the used part counts as reserved.
    assert placement.nodes[0].used == {"CPU": 1.0}


def test_bundles_of_a_node_that_has_ended_are_nowhere() -> None:
    group = Group(GROUP, "g", ((0, "n", {"CPU": 1.0}), (1, "ended", {"CPU": 2.0}), (2, "untold", None)))
    placement = build_placement([NodeRow("n")], [], [group], ended_nodes={"ended"})
    assert [(node.node_id, node.is_known) for node in placement.nodes] == [("n", True), ("untold", False)]
    assert ([bundle.index for bundle in placement.bundles], placement.bundles_total) == ([0, 2], 2)


def test_the_columns_have_the_fields_of_the_structs() -> None:
    assert set(Node.__struct_fields__) == schemas.PhysicalNodes.__annotations__.keys()
    assert set(Node.__struct_fields__) == schemas.PhysicalNode.__annotations__.keys()
    assert set(Bundle.__struct_fields__) == schemas.PhysicalBundle.__annotations__.keys()
    assert set(Workers.__struct_fields__) == schemas.PhysicalWorkers.__annotations__.keys()
    columns = schemas.PlacementColumns.__annotations__.keys()
    assert {*Placement.__struct_fields__, "groups", "amounts"} == columns
