"""Replaces the names in a session's archived tables by placeholders.

A placeholder is a keyed hash of the name: the same name gets the same placeholder in all files that are
exported with the same key, and nobody without the key can check a guess.
"""

from __future__ import annotations

import contextlib
import hmac
import itertools
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from rayscope.archive.anonymous_columns import KEPT_COLUMNS, LEFT_OUT, REPLACED_COLUMNS, Rule
from rayscope.archive.packed import write_objects
from rayscope.archive.seal import draft_manifest, sealed_table
from rayscope.archive.tables import PARTS, Table
from rayscope.metrics import charts
from rayscope.model.decoding import DECODE_ERRORS
from rayscope.storage.about import About, Label
from rayscope.storage.schema import ENTITY_COLUMNS
from rayscope.storage.sql.execution import BLOCKING_SPANS
from rayscope.tracer.sampler import PHASES

#: Number of hexadecimal digits of a placeholder. Two of a million names are equal with a chance of 0.2 %.
_DIGITS = 12
#: Parts of names that stay: IDs, numbers, and namespaces of Ray's own.
_ID = re.compile(r"(?=\w*\d)[0-9a-fA-F]{8,}|\d+|_ray_internal_\w*")
_IP = r"\d{1,3}(?:\.\d{1,3}){3}"
_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]*")
_DOTTED = re.compile(r"[\w.]*")
_FIRST_AND_METHOD = re.compile(r"^\w+(?=\W)|(?<=\.)\w+$")
_METRIC_SUFFIX = re.compile(r"_(bucket|sum|count|total)$")
#: Keys that Ray's and Rayscope's JSON have beside the names of columns.
_KEYS = """
    CPU GPU TPU memory object_store_memory node bundle bundle_id bundle_index bundles resources
    unit_resources node_id node_ids worker_id actor_id job_id placement_group_id state states name version
    num_replicas end_to_end_creation_latency_us scheduling_latency_us scheduling_attempt scheduling_state
    highest_retry_delay_ms creation_request_received_ns scheduling_started_time_ns
    actor_died_error_context actor_unschedulable_context creation_task_failure_context reason
    error_message autoscaling_config min_replicas max_replicas max_ongoing_requests
    target_ongoing_requests env_vars pip conda uv working_dir py_modules excludes config container calls
    objects ready blocked_ns gpus bytes code check_sum place times issue message module column wrapper
    user unnamed interrupted dataset id app q r m s err dep f n d c from to l x step rank metrics since_ns
    data_ns checkpoint trial training_iteration time_total_s SessionName NodeId JobId WorkerId ActorId
    hz samples frames Source State Component Version Type Name Reason ip pid Pid session
    profile func_name tool taken expected seconds problem remedy params native phase share worker_ids
    frames_left_out held_bytes
"""
#: Keys of resources, which may be of a placement group or name an accelerator.
_RESOURCE = re.compile(r"(?:CPU|GPU|TPU|memory|object_store_memory|bundle)_group_\w+|accelerator_type:[\w-]+")
#: Values of Ray's and Rayscope's own, such as names of spans.
_VALUES = """
    SUPERVISOR_ACTOR_RAY_NAMESPACE RAY_KILL OUT_OF_SCOPE debugger definition awaiting arguments
    rayscope.arguments submit_task export content fork pickled_reference data_issue gpus
    task:deserialize_arguments task:execute task:store_outputs serve.hop serve.calls serve.left_out
    train.report tune.result ray.put ray.cancel rayscope.samples rayscope.samples_for_profile
    rayscope.profile rayscope.frames rayscope.lines rayscope.memory py-spy memray tracer
"""
#: Words of Ray's and Rayscope's own that are parts of names.
_WORDS = """
    ray rayscope python py lambda locals __init__ agent gcs pid node __internal_head__ on off dask
    IDLE JobSupervisor DashboardAgent RuntimeEnvAgent
"""
#: By the keys of an object of JSON, the places of numbers of frames in each row of its last value
#: (:mod:`rayscope.ray.events.samples`).
_FRAME_NUMBERS = {
    ("hz", "samples"): (3,),
    ("profile", "hz", "samples"): (3,),
    ("profile", "memory"): (2,),
    ("frames",): (0, 1),
}
#: Labels of metrics whose values are Ray's own words, if the metric is Ray's own.
_LABELS = "Component GpuDeviceName IsHeadNode Location Reason SessionName Source State Type"
_NUMBER = re.compile(r"[+-]?(?:Inf|NaN|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)")
#: Values of the label Name that are no user's names.
_RESOURCES = frozenset(("CPU", "GPU", "TPU", "memory", "object_store_memory"))


class Anonymiser:
    """Replaces names, and counts what it replaced, between the tables of one session.

    ``counts``: "table.column" -> number of different values that were replaced.
    """

    def __init__(self, key: str, tables: Mapping[str, Path]) -> None:
        self._secret = hmac.digest(key.encode(), b"rayscope: placeholders of names", "sha256")
        #: Part of a name -> its placeholder. Whole texts are not kept, because there may be millions.
        self._parts: dict[str, str] = {}
        self.counts: Counter[str] = Counter()
        self._values = frozenset((*_VALUES.split(), *BLOCKING_SPANS, *PHASES))
        self._kept = frozenset(re.findall(r"\w+", " ".join((_WORDS, *_rays_names(tables)))))
        self._keys = frozenset(_KEYS.split()) | _column_names()
        self._own_labels = frozenset(_LABELS.split())
        self._metrics = frozenset(re.findall(r"\b(?:ray|rayscope)_\w+", str(charts.PAGES)))
        self._token = _token(_hosts(tables))
        self._label_names, self._label_values = self._rays_labels(tables)
        self._rules: Mapping[Rule, Callable[[str], str]] = {
            Rule.name: self._name,
            Rule.text: self._text,
            Rule.host: self._host,
            Rule.json: self._json,
            Rule.constant: lambda text: text if _CONSTANT.fullmatch(text) else self._text(text),
            Rule.metric: self._metric,
            Rule.labels: self._labels,
        }

    def table(self, table: Table) -> Table | None:
        """Replace the names in a table's file. Returns None if the table is left out."""
        if table.name in LEFT_OUT:
            return None
        rules = REPLACED_COLUMNS.get(table.name)
        if not rules:
            return table
        path = table.path.with_suffix(".anonymous")
        seen: dict[str, set[int]] = {name: set() for name in rules}
        with (
            pq.ParquetFile(table.path) as file,
            pq.ParquetWriter(path, file.schema_arrow, compression="zstd") as out,
        ):
            for batch in file.iter_batches():
                columns = [
                    self._column(batch.column(name), table.name, rules[name], seen[name])
                    if name in rules
                    else batch.column(name)
                    for name in batch.schema.names
                ]
                out.write_batch(pa.RecordBatch.from_arrays(columns, schema=batch.schema))
        path.replace(table.path)
        self.counts.update({f"{table.name}.{name}": len(values) for name, values in seen.items() if values})
        return table

    def about(self, about: About) -> About:
        """Replace the names in the facts about a session."""
        label = about.label
        # The two sides of "data=large" apart, so that sessions can still be compared by the tag's name.
        tags = tuple("=".join(map(self._text, tag.split("=", 1))) for tag in label.tags)
        self.counts.update(
            {
                "about.script": int(bool(about.script)),
                "about.host": int(bool(about.host)),
                "about.gcs_address": int(bool(about.gcs_address)),
                "about.label": sum(map(bool, (label.name, label.note, *label.tags))),
            }
        )
        return msgspec.structs.replace(
            about,
            agents={},
            label=Label(label.set_ns, self._text(label.name), self._text(label.note), tags),
            script=about.script and self._text(about.script),
            host=about.host and self._host(about.host),
            gcs_address=about.gcs_address and self._host(about.gcs_address),
            note=about.note and self._text(about.note),
            unknown={self._name(name): count for name, count in about.unknown.items()},
            is_anonymous=True,
        )

    def _text(self, text: str) -> str:
        return self._hash("text", text) if text else text

    def _host(self, text: str) -> str:
        return self._hash("host", text) if text else text

    def _column(self, column: pa.Array, table: str, rule: Rule, seen: set[int]) -> pa.Array:
        """Replace the values of a column. Adds hashes of the values that changed to ``seen``."""
        encoded = column.dictionary_encode()
        replaced = []
        for value in encoded.dictionary.to_pylist():
            new = self._doc(value, table) if rule is Rule.doc else self._replace(value, rule)
            if new != value:
                seen.add(hash(value))
            replaced.append(new)
        return pa.array(replaced, column.type).take(encoded.indices)

    def _replace(self, value: str | None, rule: Rule) -> str | None:
        return None if value is None else self._rules[rule](value)

    def _hash(self, prefix: str, text: str) -> str:
        return f"{prefix}-{hmac.digest(self._secret, text.encode(), 'sha256').hex()[:_DIGITS]}"

    def _name(self, text: str) -> str:
        return text if text in self._values else self._token.sub(self._part, text)

    def _part(self, match: re.Match[str]) -> str:
        part = match[0]
        if match["host"]:
            return self._host(part)
        if part in self._kept or _ID.fullmatch(part):
            return part
        known = self._parts.get(part)
        if known is None:
            known = self._parts[part] = self._hash("n", part).replace("-", "")
        return known

    def _metric(self, text: str) -> str:
        return text if self._is_rays_metric(text) else self._name(text)

    def _is_rays_metric(self, name: str) -> bool:
        known = self._metrics
        return name.startswith("rayscope_") or name in known or _METRIC_SUFFIX.sub("", name) in known

    def _rays_labels(self, tables: Mapping[str, Path]) -> tuple[set[str], set[tuple[str, str]]]:
        """Return the names of the labels of Ray's own metrics, and the pairs whose values stay."""
        pairs: set[tuple[str, str]] = set()
        for row in _values(tables, "metric_series", ("name", "labels")):
            if self._is_rays_metric(row["name"] or ""):
                with contextlib.suppress(*DECODE_ERRORS):
                    pairs.update(_decode_labels(row["labels"] or ""))
        # A worker's component is named after the function or class that it runs.
        kept = {pair for pair in pairs if pair[0] in self._own_labels and not pair[1].startswith("ray::")}
        return {name for name, _ in pairs}, kept

    def _labels(self, text: str) -> str:
        """Replace the labels of a series: a list of pairs, in the order of their names."""
        try:
            pairs = _decode_labels(text)
        except DECODE_ERRORS:
            return self._text(text)
        return msgspec.json.encode(sorted(itertools.starmap(self._label, pairs))).decode()

    def _label(self, name: str, value: str) -> tuple[str, str]:
        is_public = (name, value) in self._label_values or _NUMBER.fullmatch(value)
        if name == "Name":
            is_public = value in _RESOURCES or _RESOURCE.fullmatch(value)
        return (
            name if name in self._label_names else self._key(name),
            value if is_public else self._name(value),
        )

    def _json(self, text: str) -> str:
        try:
            return msgspec.json.encode(self._value(msgspec.json.decode(text))).decode()
        except DECODE_ERRORS:
            return self._text(text)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._json(value) if value[:1] in ("{", "[") else self._name(value)
        if isinstance(value, dict):
            if tuple(value) == ("lines",):  # texts of lines of code
                return {"lines": []}
            if places := _FRAME_NUMBERS.get(tuple(value)):
                *_, key = value
                value = {**value, key: self._frame_numbers(value[key], places)}
            return {self._key(key): self._value(inner) for key, inner in value.items()}
        return [self._value(inner) for inner in value] if isinstance(value, list) else value

    def _frame_numbers(self, rows: Any, places: tuple[int, ...]) -> Any:
        """Replace the numbers of frames, which are hashes of their names."""
        if not isinstance(rows, list):
            return rows
        return [
            [self._number(cell) if at in places else cell for at, cell in enumerate(row)]
            if isinstance(row, list)
            else row
            for row in rows
        ]

    def _number(self, number: Any) -> Any:
        if not isinstance(number, int) or not number:
            return number
        digest = hmac.digest(self._secret, str(number).encode(), "sha256")
        return (int.from_bytes(digest[:8], "big") >> 12) or 1  # fits into a JSON number

    def _key(self, key: str) -> str:
        return key if key in self._keys or _RESOURCE.fullmatch(key) else self._name(key)

    def _doc(self, doc: str | None, table: str) -> str | None:
        """Replace the names in an entity's accounts, each by the rule of the column of its name."""
        if doc is None:
            return None
        fields, transitions, observed_ns, observed = msgspec.json.decode(doc)
        steps = [[time_ns, state, self._account(extra, table)] for time_ns, state, extra in transitions]
        accounts = [self._account(fields, table), steps, observed_ns, self._account(observed, table)]
        return msgspec.json.encode(accounts).decode()

    def _account(self, account: Mapping[str, Any], table: str) -> dict[str, Any]:
        rules, kept = REPLACED_COLUMNS[table], KEPT_COLUMNS.get(table, ())
        return {
            name: value
            if name in kept
            else self._replace(value, rules[name])
            if name in rules and isinstance(value, str)
            else self._value(value)
            for name, value in account.items()
        }


def _column_names() -> frozenset[str]:
    return frozenset(name for columns in ENTITY_COLUMNS.values() for name, _ in columns)


def _values(tables: Mapping[str, Path], name: str, columns: Iterable[str]) -> list[dict[str, str | None]]:
    """Return the different values of some columns of a table."""
    path = tables.get(name)
    if path is None:
        return []
    rows = pq.read_table(path, columns=list(columns))
    return list(rows.group_by(list(columns)).aggregate([]).to_pylist())


_decode_labels = msgspec.json.Decoder(list[tuple[str, str]]).decode


def _rays_names(tables: Mapping[str, Path]) -> list[str]:
    """Return the modules and functions of Ray's own that tasks called. They are public.

    Ray names some of its classes after the user's: ``ServeReplica:shop:FraudModel.handle_request``,
    ``MapWorker(MapBatches(FraudModel)).submit``. Only the first word and the method of these are Ray's.
    """
    found = []
    for row in _values(tables, "attempts", ("module_name", "func_name")):
        module, function = row["module_name"] or "", row["func_name"] or ""
        if module.split(".")[0] == "ray":
            is_plain = _DOTTED.fullmatch(function)
            found += [module, *([function] if is_plain else _FIRST_AND_METHOD.findall(function))]
    return found


def _hosts(tables: Mapping[str, Path]) -> list[str]:
    """Return the names and addresses of the nodes, longest first."""
    columns = ("node_ip", "node_name", "hostname")
    found = {text for row in _values(tables, "node_rows", columns) for text in row.values() if text}
    return sorted(found, key=lambda text: (-len(text), text))


def _token(hosts: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern of the parts of a name: a host, an address, or a word."""
    known = "|".join([*map(re.escape, hosts), _IP])
    return re.compile(rf"(?P<host>(?<![\w.])(?:{known})(?![\w]))|\w+")


def write_anonymous(folder: Path, about: About, work: Path, key: str, out: IO[bytes]) -> dict[str, int]:
    """Write the file of the session in ``folder`` without names and logs, and return what was replaced.

    See :attr:`Anonymiser.counts`. ``work`` is a folder for temporary files. Raises StoreError or OSError.
    """
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=work, prefix="anonymise-") as temp:
        tables = [
            (part, table)
            for part in ("record", "metrics")
            if (folder / PARTS[part].file).exists()
            for table in PARTS[part].seal(folder / PARTS[part].file, Path(temp))
        ]
        anonymiser = Anonymiser(key, {table.name: table.path for _, table in tables})
        draft = draft_manifest(anonymiser.about(about))
        objects = (
            (sealed_table(part, changed), changed.path)
            for part, table in tables
            if (changed := anonymiser.table(table)) is not None
        )
        for chunk in write_objects(draft, objects):
            out.write(chunk)
        return dict(anonymiser.counts)
