"""Our reader of Prometheus text against the official one, and its result for Ray's."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from rayscope.model.metric import Sample
from rayscope.ray.agents.scrape import is_wanted
from rayscope.ray.prometheus_text import TextReader, described

NODE = (Path(__file__).parent / "samples" / "node.prom").read_text()

Samples = list[tuple[str, tuple[tuple[str, str], ...], float]]


def official(text: str) -> Samples:
    return sorted(
        (sample.name, tuple(sorted((k, v) for k, v in sample.labels.items() if v)), sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    )


def ours(text: str, times: int = 2) -> Samples:
    reader = TextReader()
    for _ in range(times - 1):
        reader.read(text)  # what was remembered must read the same
    read = reader.read(text)
    assert read.odd == 0
    return sorted(map(tuple, read.samples))  # type: ignore[arg-type]


def test_a_node_reads_as_the_official_parser_reads_it() -> None:
    samples = ours(NODE)
    assert samples == official(NODE)
    assert len(samples) > 200


_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=12)


@given(st.lists(st.tuples(_TEXT, _TEXT, st.floats(allow_nan=False)), max_size=6))
def test_any_labels_and_values_read_as_they_were_written(rows: list[tuple[str, str, float]]) -> None:
    registry = CollectorRegistry()
    gauge = Gauge("some_gauge", "Some.", ["one", "two"], registry=registry)
    for one, two, value in rows:
        gauge.labels(one, two).set(value)
    text = generate_latest(registry).decode()
    assert ours(text) == official(text)


def test_lines_out_of_the_ordinary_go_to_the_official_parser() -> None:
    text = 'a{x="1"} 3 1700000000000\nb  4.5\nc{x="}",} NaN\n\n# a comment\nnot a line at all ?\nd +Inf\n'
    read = TextReader().read(text)
    assert [(s.name, s.labels) for s in read.samples] == [
        ("a", (("x", "1"),)),
        ("b", ()),
        ("c", (("x", "}"),)),
        ("d", ()),
    ]
    assert [s.value for s in read.samples if s.name in "abd"] == [3, 4.5, float("inf")]
    assert read.odd == 1


def test_families_have_types_and_units_and_buckets_of_ray_itself_are_left_out() -> None:
    reader = TextReader(is_wanted)
    read = reader.read(NODE)
    names = {sample.name for sample in read.samples}
    families = {family.name: family for family in described(names, read.families)}
    assert families.keys() == names
    types = {name: (family.type, family.unit) for name, family in families.items()}
    assert types["ray_node_mem_used"] == ("gauge", "bytes")
    assert types["ray_node_cpu_utilization"] == ("gauge", "percent")
    assert types["ray_node_network_send_speed"] == ("gauge", "bytes/s")
    assert types["ray_grpc_server_req_new_total"] == ("counter", "count")
    assert types["ray_grpc_server_req_process_time_ms_count"] == ("counter", "count")
    assert families["ray_node_mem_used"].help == "Memory usage on a ray node"
    assert not any(name.endswith("_bucket") or name.startswith(("python_", "process_")) for name in names)
    assert is_wanted("ray_serve_request_latency_ms_bucket")
    assert Sample("ray_node_cpu_count", read.samples[0].labels, 2.0).name in names
