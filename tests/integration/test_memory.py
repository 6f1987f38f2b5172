"""The holders of objects in a real cluster equal those in Ray's own state API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.waiting import wait_until

pytestmark = [pytest.mark.ray]

HOLDER = """
import json, sys
import numpy as np
from ray.util.state import list_objects

@ray.remote
def make(n):
    return np.zeros(n, dtype=np.uint8)

@ray.remote
class Keeper:
    def keep(self, refs):
        self.refs = refs

made = [make.remote(1_000_000) for _ in range(3)]
put = ray.put(np.zeros(2_000_000, dtype=np.uint8))
keeper = Keeper.remote()
ray.get(keeper.keep.remote([put]))
ray.wait(made, num_returns=3)
print(json.dumps([ref.hex() for ref in made] + [put.hex()]), flush=True)
for line in sys.stdin:
    print(json.dumps([
        [o["object_id"], o["object_size"], o["reference_type"], o["pid"]]
        for o in list_objects(address=sys.argv[1], limit=10_000, raise_on_missing_output=False)
    ]), flush=True)
"""


def test_references_equal_rays_and_name_who_made_them(cluster: Any) -> None:
    driver = cluster.start_driver(HOLDER, cluster.dashboard_url)
    try:
        ids = json.loads(next(line for line in driver.stdout if line.startswith("[")))
        made, put = ids[:3], ids[3]

        def known() -> Any:
            found = cluster.get("/api/v1/memory", by="function", older_than_s=0)
            mine = {o["object_id"]: o for o in found["objects"] if o["object_id"] in ids}
            return len(mine) == 4 and all(o["function"] for o in mine.values()) and (found, mine)

        found, mine = wait_until(known, "the objects and their makers")
        assert {mine[one]["function"] for one in made} == {"make"}
        assert (mine[put]["function"], mine[put]["is_put"]) == ("driver", True)
        groups = {(g["key"], g["is_put"]): g for g in found["groups"]}
        assert groups["make", False]["objects"] == 3
        assert 3_000_000 <= groups["make", False]["bytes"] < 3_010_000
        assert sum(node["used_bytes"] for node in found["nodes"]) >= 5_000_000
        assert len(found["nodes"]) == 2
        driver.stdin.write("list\n")
        driver.stdin.flush()
        said = json.loads(next(line for line in driver.stdout if line.startswith("[")))
        rays = {(one, size, kind, pid) for one, size, kind, pid in said if one in ids}
        ours = {
            (one, o["bytes"], holder["type"], holder["pid"])
            for one, o in mine.items()
            for holder in o["holders"]
        }
        assert {(one, kind, pid) for one, _, kind, pid in rays} == {(o, k, p) for o, _, k, p in ours}
        assert {(one, size) for one, size, _, _ in rays if size > 0} == {(o, size) for o, size, _, _ in ours}
        holders = {holder["actor_id"] is not None for holder in mine[put]["holders"]}
        assert holders == {True, False}
    finally:
        driver.kill()
        driver.wait()


COPIED = """
import json, time
import numpy as np
from ray.experimental import get_object_locations

@ray.remote(num_cpus=0, resources={"second": 0.1})
def make():
    return np.zeros(2_000_000, dtype=np.uint8)

@ray.remote(num_cpus=0)
def take(refs):
    return ray.get(refs[0]).nbytes

@ray.remote(num_cpus=0)
class Owner:
    def put(self):
        return [ray.put(np.zeros(1_000_000, dtype=np.uint8))]

made = make.remote()
head = take.options(resources={"node:__internal_head__": 0.001})
ray.get(head.remote([made]))
owner = Owner.remote()
orphan = ray.get(owner.put.remote())[0]
ray.kill(owner)
small = take.remote([made])
where = get_object_locations([made])[made]["node_ids"]
print(json.dumps([made.hex(), orphan.hex(), small.hex(), where]), flush=True)
time.sleep(600)
"""


def test_copies_of_an_object_are_where_ray_says(cluster: Any) -> None:
    driver = cluster.start_driver(COPIED)
    try:
        made, orphan, small, where = json.loads(next(line for line in driver.stdout if line.startswith("[")))
        assert len(where) == 2

        def answer(
            of: str, problem: str | None
        ) -> Any:  # the tasks come with Ray's events, the death with the GCS
            found = cluster.get(f"/api/v1/memory/objects/{of}")
            return found["problem"] == problem and found

        copies = wait_until(lambda: answer(made, None), "the owner's answer")
        assert set(copies["nodes"]) == set(where)
        assert 2_000_000 <= copies["bytes"] < 2_010_000
        wait_until(lambda: answer(orphan, "owner_gone"), "that the owner is gone")
        inside = wait_until(lambda: answer(small, None), "the owner of a small object")
        assert (inside["nodes"], inside["is_spilled"], inside["owner_id"]) == ([], False, copies["owner_id"])

        stores = {one["node_id"]: one for one in cluster.get("/api/v1/memory")["nodes"]}
        for node in cluster.get("/api/v1/nodes", state="ALIVE")["items"]:
            usage, store = node["usage"], stores[node["node_id"]]
            assert store["memory"]["total_bytes"] == usage["mem_total_bytes"]
            assert store["object_store"]["total_bytes"] == usage["object_store_total_bytes"]
            for amount in (store["memory"], store["object_store"]):
                assert amount["used_bytes"] + amount["available_bytes"] <= amount["total_bytes"]
                assert 0 <= amount["percent"] <= 100
    finally:
        driver.kill()
        driver.wait()
