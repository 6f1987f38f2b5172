"""The shapes of what the server returns and accepts: dicts whose keys docs/reference/api.md explains.

Fields named ``*_ns`` are integer nanoseconds: times since the epoch, or durations. Sizes are in bytes. IDs
are Ray's, in hex. None means unknown. A newer server may return more fields.
"""

# ruff: noqa: F403 - everything in these modules is a schema

from rayscope.alerts.schemas import *
from rayscope.api.schemas import *
from rayscope.cluster.crashes.schemas import *
from rayscope.cluster.deaths.schemas import *
from rayscope.cluster.debugger.schemas import *
from rayscope.cluster.entities.schemas import *
from rayscope.cluster.events.schemas import *
from rayscope.cluster.find.schemas import *
from rayscope.cluster.jobs.schemas import *
from rayscope.cluster.logs.schemas import *
from rayscope.cluster.nodes.schemas import *
from rayscope.cluster.objects.schemas import *
from rayscope.cluster.placement.schemas import *
from rayscope.cluster.recording.schemas import *
from rayscope.cluster.sessions.schemas import *
from rayscope.cluster.tasks.schemas import *
from rayscope.compare.schemas import *
from rayscope.ingest.schemas import *
from rayscope.insights.schemas import *
from rayscope.libraries.data.schemas import *
from rayscope.libraries.schemas import *
from rayscope.libraries.serve.schemas import *
from rayscope.libraries.train.schemas import *
from rayscope.libraries.tune.schemas import *
from rayscope.metrics.query_schemas import *
from rayscope.metrics.schemas import *
from rayscope.records.schemas import *
from rayscope.runs.schemas import *
from rayscope.server.push.schemas import *
from rayscope.server.schemas import *
from rayscope.views.critical_path.schemas import *
from rayscope.views.flame.schemas import *
from rayscope.views.gantt.schemas import *
from rayscope.views.lines.schemas import *
from rayscope.views.logical.schemas import *
from rayscope.views.physical.schemas import *
from rayscope.views.profiles.schemas import *
from rayscope.views.range.schemas import *
from rayscope.views.stack.frames_schemas import *
from rayscope.views.stack.schemas import *
from rayscope.warehouse.schemas import *
