"""Placement groups that do not fit onto the nodes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rayscope.cluster.nodes.demand import Place, explain_group
from rayscope.insights.finding import Facts, Finding
from rayscope.insights.holdings import group_name


class UnschedulableGroup:
    """Placement groups that were never placed because the nodes cannot hold their bundles.

    Limits: any placement group with a bundle that is larger than each node, more bundles to spread than there
    are nodes, or more in total than the cluster has.

    Needs: the bundles of placement groups, and what the nodes have.
    """

    kind = "unschedulable_group"
    title = "Placement group can't be placed"
    advice = (
        "{group} with {bundles} bundles ({strategy}) was never placed. {reason} Ask for smaller bundles, "
        "or add nodes. Of the strategies, PACK and SPREAD ask for less than the STRICT ones."
    )
    sketch = "group = ray.util.placement_group(smaller_bundles)  # ray status shows what the nodes have"
    doc = "placement groups"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Placement groups that the nodes could not hold even if nothing else ran."""
        recorded = facts.recorded
        places = [Place(node.node_id, node.resources, node.resources) for node in recorded.nodes]
        for place, group in enumerate([*recorded.groups, *recorded.empty_groups]):
            if group.ready >= 0 or not places:
                continue
            reason = explain_group(group.strategy, group.bundles, places)
            if reason.never:
                yield Finding(
                    max(0, min(facts.removal(group), recorded.last) - group.created),
                    rows=np.flatnonzero(facts.attempts.group == place),
                    groups=(group.group_id,),
                    is_risk=True,
                    numbers={
                        "group": group_name(group),
                        "bundles": len(group.bundles),
                        "strategy": group.strategy,
                        "reason": reason.message,
                    },
                )
