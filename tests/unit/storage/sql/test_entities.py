"""One entity in full."""

from __future__ import annotations

from tests.running import Running
from tests.story import SESSION, Story, at

ACTOR = "1f" * 12 + "01000000"


def test_the_history_of_an_actor_ends_with_its_cluster(fresh: Running) -> None:
    story = Story()
    story.task("f", 0, 1, 2)
    story.entity("actor", ACTOR, 1, class_name="Bob")
    story.entity("actor", "2" * 32, 1, 5, class_name="Dead")
    fresh.record(story)

    def history(actor: str) -> list[tuple[int, str, str | None]]:
        steps = fresh.get(f"/api/v1/actors/{actor}")["history"]
        return [(step["time_ns"], step["state"], step.get("end_known_by")) for step in steps]

    assert history(ACTOR) == [(at(1), "ALIVE", None)]
    assert fresh.server.services is not None
    fresh.server.services.writer.end_session(SESSION, at(9))
    assert fresh.server.services.writer.flush()
    assert history(ACTOR) == [(at(1), "ALIVE", None), (at(9), "DEAD", "session")]
    assert history("2" * 32) == [(at(1), "ALIVE", None), (at(5), "DEAD", None)]
