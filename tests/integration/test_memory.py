"""Who holds which objects of a real cluster, as Ray's own state API tells it."""

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
            found = cluster.get("/api/memory", by="function", older_than_s=0)
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
