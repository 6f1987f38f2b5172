"""The critical path where calls of async methods were suspended."""

from __future__ import annotations

from itertools import pairwise

from rayscope.views.critical_path.compute import Link, Path, causes, split_awaiting

KEY = ("t", 0)


def _split(link: Link, *stretches: tuple[int, int, int]) -> list[tuple[str, int, int]]:
    path = Path([link], link.begin_ns, link.end_ns, False)
    found = split_awaiting(path, {KEY: list(stretches)}).links
    assert found[0].begin_ns == link.begin_ns
    assert found[-1].end_ns == link.end_ns
    assert all(one.end_ns == after.begin_ns for one, after in pairwise(found))
    return [(one.phase, one.begin_ns, one.end_ns) for one in found]


def test_an_executing_link_is_split_where_its_call_was_suspended() -> None:
    link = Link(*KEY, "A.poll", "executing", 100, 200, 100)
    # The first began before the link; the last but one sums up 10 of 40; the last ends after the link.
    assert _split(link, (50, 110, 60), (120, 130, 10), (140, 180, 10), (190, 260, 70)) == [
        ("awaiting", 100, 110),
        ("executing", 110, 120),
        ("awaiting", 120, 130),
        ("executing", 130, 140),
        ("awaiting", 140, 150),
        ("executing", 150, 190),
        ("awaiting", 190, 200),
    ]
    # Sums may overlap other stretches; no time counts twice.
    assert _split(link, (100, 200, 50), (120, 160, 40)) == [
        ("awaiting", 100, 150),
        ("awaiting", 150, 160),
        ("executing", 160, 200),
    ]


def test_other_links_stay() -> None:
    link = Link(*KEY, "A.poll", "blocked", 100, 200)
    assert _split(link, (100, 200, 100)) == [("blocked", 100, 200)]


def test_each_method_that_awaits_is_a_cause() -> None:
    links = [Link("t", 0, "A.poll", "awaiting", 0, 60), Link("u", 0, "A.read", "awaiting", 60, 100)]
    found = causes(Path(links, 0, 100, False), lambda task: False)
    assert [(one.phase, one.name, one.total_ns) for one in found] == [
        ("awaiting", "A.poll", 60),
        ("awaiting", "A.read", 40),
    ]
