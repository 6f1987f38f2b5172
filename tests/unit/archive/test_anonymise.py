"""An anonymised session file has none of the session's names, and is otherwise the same session."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import session_files

from rayscope.archive.anonymise import Anonymiser
from rayscope.archive.anonymous_columns import KEPT_COLUMNS, LEFT_OUT, REPLACED_COLUMNS, Rule
from rayscope.archive.session_files import SessionFiles
from rayscope.archive.tables import TABLES_OF_PARTS
from rayscope.metrics.tsdb.file import sealed_columns
from rayscope.storage.about import About, Label
from rayscope.storage.catalog import Catalog
from rayscope.storage.schema import ADDED_COLUMNS, TABLES
from rayscope.tracer.sampler import PHASES, frame_number
from rayscope.views.profiles.schemas import ProfiledWorker, StackGroup

#: Words of the sample that are also words of Ray's, or numbers.
_COMMON = re.compile(r"[\d\W]*|.{1,3}")


def text_columns() -> Iterator[tuple[str, str]]:
    """Each text column of the tables in a session file."""
    with duckdb.connect() as db:
        for statement in TABLES:
            db.execute(statement)
        yield from db.execute(
            "SELECT table_name, column_name FROM duckdb_columns() WHERE data_type IN ('VARCHAR', 'BLOB') "
            "AND NOT internal"
        ).fetchall()
    for table, columns in sealed_columns().items():
        yield from ((table, name) for name, kind in columns.items() if kind == "VARCHAR")


def test_each_text_column_is_on_one_list() -> None:
    """Decide for a new column: REPLACED_COLUMNS with a rule if users can choose its content, else KEPT_COLUMNS."""
    columns = [
        (table, name)
        for lists in (REPLACED_COLUMNS, KEPT_COLUMNS)
        for table, names in lists.items()
        for name in names
    ]
    assert len(set(columns)) == len(columns)
    assert set(columns) == {(table, name) for table, name in text_columns() if table not in LEFT_OUT}
    tables = {name for names in TABLES_OF_PARTS.values() for name in names}
    assert set(LEFT_OUT) <= tables
    assert ADDED_COLUMNS


@pytest.fixture
def anonymous(whole: Path, tmp_path: Path) -> dict[str, bytes]:
    """The entries of an anonymised file."""
    return session_files.read(export(whole, tmp_path / "anonymous.rayscope")[0])


def export(folder: Path, path: Path, key: str = "key") -> tuple[Path, dict[str, int]]:
    data_dir = folder.parent.parent
    catalog = Catalog(data_dir)
    about = catalog.about(folder.name)
    about.ended_ns, about.host, about.script = about.last_ns, "secrethost", "secretscript.py"
    about.label = Label(1, "secretlabel", "secretnote", ("secrettag", "secretkey=secretvalue"))
    catalog.save_about(folder.name)
    files = SessionFiles(catalog, data_dir / "session-files")
    with files.export_anonymous(folder.name, key) as (file, counts):
        path.write_bytes(file.read())
    return path, counts


def tables(entries: dict[str, bytes]) -> dict[str, pa.Table]:
    return {
        name.partition("/")[0]: pq.read_table(io.BytesIO(content))
        for name, content in entries.items()
        if name.endswith(".parquet")
    }


def originals(folder: Path) -> set[str]:
    """The names in the columns that are replaced, and in their JSON."""
    found: set[str] = set()
    for name in ("record.duckdb", "metrics.duckdb"):
        with duckdb.connect(str(folder / name), read_only=True) as db:
            names = {"metric_series": "series", "metric_families": "families"}
            for table, rules in REPLACED_COLUMNS.items():
                if table.startswith("metric_") != (name == "metrics.duckdb"):
                    continue
                for column, rule in rules.items():
                    rows = db.execute(f"SELECT DISTINCT {column} FROM {names.get(table, table)}").fetchall()
                    for (value,) in rows:
                        if value and rule in (Rule.text, Rule.host):
                            found.add(value)
                        elif value and rule in (Rule.name, Rule.metric):
                            found.update(re.findall(r"\w+", value))
    return {value for value in found if not _COMMON.fullmatch(value)}


def test_no_original_name_is_left(whole: Path, anonymous: dict[str, bytes]) -> None:
    texts = "\n".join(
        value
        for table in tables(anonymous).values()
        for column in table.columns
        if pa.types.is_string(column.type)
        for value in column.unique().to_pylist()
        if value
    )
    manifest = anonymous[session_files.manifest_name(anonymous)].decode()
    words = set(re.findall(r"\w+", texts + manifest))
    anonymiser = Anonymiser("key", {})
    kept = anonymiser._kept | {word for value in anonymiser._values for word in re.findall(r"\w+", value)}
    names = originals(whole)
    assert len(names) > 20
    left = {
        name
        for name in names
        if (name in words if re.fullmatch(r"\w+", name) else name in texts)
        and not set(re.findall(r"\w+", name)) <= kept
        and not re.fullmatch(r"(?=\w*\d)[0-9a-f]{8,}", name)
    }
    rays = {
        word
        for module, function in attempts_of(whole)
        # Other functions of Ray's, such as those of Serve's replicas, are named after the user's classes.
        if (module or "").startswith("ray") and re.fullmatch(r"[\w.]*", function or "")
        for word in re.findall(r"\w+", f"{module} {function}")
    }
    assert left - rays == set()
    assert "secret" not in texts + manifest + "".join(anonymous)


def attempts_of(folder: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(folder / "record.duckdb"), read_only=True) as db:
        return db.execute("SELECT DISTINCT module_name, func_name FROM attempts").fetchall()


def test_ids_times_states_and_numbers_stay(whole: Path, anonymous: dict[str, bytes]) -> None:
    files = SessionFiles(Catalog(whole.parent.parent), whole.parent.parent / "session-files")
    path = whole.parent.parent / "whole"
    path.write_bytes(b"".join(files.export(whole.name)))
    before, after = tables(session_files.read(path)), tables(anonymous)
    assert before.keys() - after.keys() == {"log_files", "log_stretches"}
    for name, table in before.items():
        if name in LEFT_OUT:
            continue
        assert after[name].schema.names == table.schema.names
        for column in table.schema.names:
            if column not in REPLACED_COLUMNS.get(name, {}):
                same = repr(after[name].column(column).to_pylist()) == repr(table.column(column).to_pylist())
                assert same, (name, column)
            else:
                assert after[name].column(column).null_count == table.column(column).null_count


def test_equal_names_stay_equal_and_keys_decide(whole: Path, tmp_path: Path) -> None:
    first, counts = export(whole, tmp_path / "a")
    second, _ = export(whole, tmp_path / "b")
    other, _ = export(whole, tmp_path / "c", key="other")
    entries = tables(session_files.read(first))
    assert entries["attempts"].equals(tables(session_files.read(second))["attempts"])
    names = entries["attempts"].column("func_name").unique()
    assert len(names) == len({function for _, function in attempts_of(whole)})
    assert not names.equals(tables(session_files.read(other))["attempts"].column("func_name").unique())
    assert counts["attempts.func_name"] > 1
    assert counts["about.label"] == 4
    assert "attempts.state" not in counts


def test_parts_of_names_keep_their_place() -> None:
    name = Anonymiser("key", {})._name
    full, method = name("acme.train.Model.fit"), name("Model.fit")
    assert full.endswith(f".{method}")
    assert "acme" not in full
    assert name("<lambda> (train.py:12)").startswith("<lambda> (n")
    assert name("<lambda> (train.py:12)").endswith(":12)")
    assert name("10.0.0.1") != "10.0.0.1"
    assert name("a1b2c3d4e5f60718") == "a1b2c3d4e5f60718"
    assert name("ray.get") == "ray.get"


def test_rays_classes_that_are_named_after_users_classes(tmp_path: Path) -> None:
    functions = [
        "ServeReplica:shop:FraudModel.handle_request",
        "MapWorker(MapBatches(FraudModel)).submit",
        "ServeController.listen",
    ]
    columns = {"module_name": ["ray.serve._private.replica"] * len(functions), "func_name": functions}
    pq.write_table(pa.table(columns), tmp_path / "attempts.parquet")
    name = Anonymiser("key", {"attempts": tmp_path / "attempts.parquet"})._name
    first, second, third = map(name, functions)
    assert re.fullmatch(r"ServeReplica:n\w{12}:n\w{12}\.handle_request", first)
    assert re.fullmatch(r"MapWorker\(n\w{12}\(n\w{12}\)\)\.submit", second)
    assert third == functions[2]
    assert name("FraudModel") in first
    assert not {"shop", "FraudModel", "MapBatches"} & set(re.findall(r"\w+", name(" ".join(functions))))


def series(path: Path, *rows: tuple[str, dict[str, str]]) -> list[tuple[str, dict[str, str]]]:
    """The metrics and labels of some series, anonymised."""
    names, labels = zip(*rows, strict=True)
    texts = [json.dumps(list(map(list, one.items()))) for one in labels]
    pq.write_table(pa.table({"name": list(names), "labels": texts}), path)
    anonymiser = Anonymiser("key", {"metric_series": path})
    pairs = [json.loads(anonymiser._labels(text)) for text in texts]
    assert all(one == sorted(one) for one in pairs)
    return [(anonymiser._metric(name), dict(one)) for name, one in zip(names, pairs, strict=True)]


def test_labels_of_metrics(tmp_path: Path) -> None:
    node = "ab12" * 14
    tasks, worker, idle, raylet, resource, own, bucket = series(
        tmp_path / "metric_series.parquet",
        ("ray_tasks", {"Name": "acme.train", "NodeId": node, "State": "FINISHED"}),
        (
            "ray_component_uss_bytes",
            {"Component": "ray::acme.train", "SessionName": "session_1-2_3", "ip": "10.0.0.1"},
        ),
        ("ray_component_uss_bytes", {"Component": "ray::IDLE"}),
        ("ray_component_uss_bytes", {"Component": "raylet"}),
        ("ray_resources", {"Name": "CPU", "State": "USED"}),
        ("ray_acme_sales", {"State": "acme", "customer": "acme", "size": "3"}),
        ("ray_acme_sales_bucket", {"le": "+Inf"}),
    )
    name = Anonymiser("key", {})._name
    assert tasks == ("ray_tasks", {"Name": name("acme.train"), "NodeId": node, "State": "FINISHED"})
    assert worker[1]["Component"] == f"ray::{name('acme.train')}"
    assert worker[1]["SessionName"] == "session_1-2_3"
    assert worker[1]["ip"].startswith("host-")
    assert (idle[1], raylet[1]) == ({"Component": "ray::IDLE"}, {"Component": "raylet"})
    assert resource[1] == {"Name": "CPU", "State": "USED"}
    assert "acme" not in str(own)
    assert "customer" not in str(own)
    assert own[1][name("size")] == "3"
    assert bucket[1].popitem()[1] == "+Inf"


def test_lists_and_objects_in_an_account_are_replaced_too() -> None:
    account = {
        "name": ["acme"],
        "config": {"acme": {"n": 3, "x": "acme"}},
        "state": "RUNNING",
        "unknown": ["acme"],
    }
    made = Anonymiser("key", {})._account(account, "serve_application_rows")
    assert "acme" not in json.dumps(made)
    assert (made["state"], made["config"].popitem()[1]["n"]) == ("RUNNING", 3)


def test_the_sides_of_a_tag_are_replaced_apart() -> None:
    about = About("session_1", label=Label(tags=("data=large", "data=small", "nightly")))
    tags = Anonymiser("key", {}).about(about).label.tags
    (first, large), (second, small) = (tag.split("=") for tag in tags[:2])
    assert first == second
    assert len({first, large, small, tags[2]}) == 4


def test_json_keeps_its_form() -> None:
    anonymiser = Anonymiser("key", {})
    resources = {"CPU": 1, "accelerator_type:A100": 0.5, "CPU_group_0_a1": 1, "licence": 2}
    made = json.loads(anonymiser._json(json.dumps(resources)))
    assert list(made)[:3] == ["CPU", "accelerator_type:A100", "CPU_group_0_a1"]
    assert list(made.values()) == [1, 0.5, 1, 2]
    assert "licence" not in made
    assert anonymiser._json('{"user":{"customer":"acme","n":3}}').startswith('{"user":{"n')
    assert "acme" not in anonymiser._json('{"user":{"customer":"acme","n":3}}')
    assert "acme" not in anonymiser._json("{acme")


def test_an_anonymised_file_opens_twice(whole: Path, tmp_path: Path) -> None:
    path, _ = export(whole, tmp_path / "a.rayscope")
    catalog = Catalog(tmp_path / "there")
    files = SessionFiles(catalog, tmp_path / "there" / "session-files")
    assert files.open(path) == files.open(path) == whole.name
    assert catalog.about(whole.name).is_anonymous


def test_numbers_of_frames_reveal_no_names() -> None:
    anonymiser = Anonymiser("key", {})
    number = frame_number(0, "secret.py:1 train")
    frames = json.loads(anonymiser._json(json.dumps({"frames": [[number, 0, "secret.py:1 train"]]})))[
        "frames"
    ]
    samples = json.loads(anonymiser._json(json.dumps({"hz": 1.0, "samples": [[0, 0, 5, number]]})))["samples"]
    held = json.loads(anonymiser._json(json.dumps({"profile": "98e3", "memory": [[9, 1, number]]})))["memory"]
    ((replaced, caller, text),) = frames
    lines = {"lines": [["secret.py:1 train", "login(password)"]]}
    assert json.loads(anonymiser._json(json.dumps(lines))) == {"lines": []}
    assert samples == [[0, 0, 5, replaced]]
    assert held == [[9, 1, replaced]]
    assert (replaced != number, caller) == (True, 0)
    assert "secret" not in text
    assert "train" not in text
    assert Anonymiser("other", {})._number(number) != replaced


def test_the_workers_and_stacks_of_a_profile_stay_readable() -> None:
    problem = {"code": "no_permission", "message": "No.", "remedy": "Allow it.", "params": {"name": "acme"}}
    worker = dict.fromkeys(ProfiledWorker.__annotations__) | {
        "worker_id": "a1" * 28,
        "node_id": "b2" * 28,
        "pid": 7,
        "tool": "py-spy",
        "samples": 5,
        "native": False,
        "problem": problem,
    }
    stacks = [
        {
            "phase": phase,
            "frames": ["acme.py:3 train"],
            "frames_left_out": 0,
            "share": 0.5,
            "worker_ids": ["a1" * 28],
        }
        for phase in PHASES
    ]
    anonymiser = Anonymiser("key", {})
    workers = anonymiser._json(json.dumps([worker]))
    (decoded,) = msgspec.json.decode(workers, type=list[ProfiledWorker])
    assert (decoded["worker_id"], decoded["tool"]) == (worker["worker_id"], "py-spy")
    groups = anonymiser._json(json.dumps(stacks))
    assert [group["phase"] for group in msgspec.json.decode(groups, type=list[StackGroup])] == list(PHASES)
    assert "acme" not in workers + groups
