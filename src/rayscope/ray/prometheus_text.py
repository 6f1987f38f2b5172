"""Parses Prometheus' text format with a fast caching parser, and the official one for unusual lines.

An exporter repeats the same ``name{labels}`` every time, so each is parsed once: a line is split at its last
space, and the part before it is looked up. Unusual lines, such as those with timestamps, go to
``prometheus_client``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from sys import intern
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from rayscope.model.metric import Family, Labels, Sample

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_KEY = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)[ \t]*(?:\{(.*)\})?")
_LABEL = re.compile(r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\\n]|\\["\\n])*)"[ \t]*(?:,|$)')
_ESCAPE = re.compile(r"\\(.)")
_TYPES = {"gauge": "gauge", "counter": "counter", "histogram": "histogram", "summary": "unknown"}
#: Maximum number of characters in a cached label, name and value together. Longer ones are not cached.
_MAX_PAIR = 1000
#: Maximum number of characters in a line. The official parser takes quadratic time.
_MAX_LINE = 20_000
_ENDINGS = ("_bucket", "_count", "_sum", "_total", "_created")


class Read(NamedTuple):
    """A parsed text.

    ``odd``: number of lines that neither parser understood; ``left_out``: number of series for which there
    was no room; ``new``: the series that no earlier text of the endpoint had, as far as they are cached.
    """

    samples: list[Sample]
    families: dict[str, Family]
    odd: int
    left_out: int
    new: list[tuple[str, Labels]]


class TextReader:
    """Parses successive responses of one endpoint. Not thread-safe.

    Args:
        is_wanted: whether to keep the series of a name. None means that there is no room for them, so they
            are counted as left out.
        relabel: converts the labels in the text to those of the series.
    """

    def __init__(
        self,
        is_wanted: Callable[[str], bool | None] = lambda _: True,
        relabel: Callable[[dict[str, str]], dict[str, str]] = lambda labels: labels,
    ) -> None:
        self._is_wanted = is_wanted
        self._relabel = relabel
        self._names: dict[str, bool | None] = {}
        self._keys: dict[str, tuple[str, Labels]] = {}
        self._families: dict[str, Family] = {}
        self._meta: set[int] = set()
        #: Whether ``_keys`` has all series of the earlier texts.
        self._knows_earlier = False

    def read(self, text: str) -> Read:
        """Parse the samples in a text, including NaN values. Never raises, whatever the content."""
        keys, names, odd, left_out = self._keys, self._names, 0, 0
        samples: list[Sample] = []
        new: list[tuple[str, Labels]] = []
        add = samples.append
        lines = text.split("\n")
        for line in lines:
            if not line:
                continue
            if line[0] == "#":
                if hash(line) not in self._meta:
                    self._describe(line)
                continue
            key, _, number = line.rpartition(" ")
            series = keys.get(key)
            if series is None:
                name = key.partition("{")[0]
                wanted = names.get(name, self)
                if wanted is self and _NAME.fullmatch(name):
                    wanted = names[name] = self._is_wanted(name)
                if not wanted:
                    left_out += wanted is None
                    continue
                series = self._take_apart(key)
                if series is None:
                    found = self._officially(line)
                    odd += found is None
                    samples.extend(found or ())
                    continue
                keys[key] = series
                new.append(series)
            try:
                add(Sample(series[0], series[1], float(number)))
            except ValueError:
                odd += 1
        new = new if self._knows_earlier else []
        self._knows_earlier = len(keys) <= 2 * len(lines) + 1000
        if not self._knows_earlier:
            self._keys = {}  # drop series of processes that are gone
            self._meta = set()
        return Read(samples, self._families, odd, left_out, new)

    def _take_apart(self, key: str) -> tuple[str, Labels] | None:
        """Parse the part of a line before the value. Returns its series, or None if the part is unusual."""
        matched = _KEY.fullmatch(key.strip())
        if matched is None:
            return None
        name, inside = matched[1], matched[2]
        labels: dict[str, str] = {}
        at = 0
        while inside and at < len(inside):
            label = _LABEL.match(inside, at)
            if label is None:
                return None
            value = label[2]
            labels[label[1]] = _ESCAPE.sub(_unescaped, value) if "\\" in value else value
            at = label.end()
        return self._series(name, labels)

    def _series(self, name: str, labels: dict[str, str]) -> tuple[str, Labels]:
        # Thousands of series share labels, so store each pair once.
        return intern(name), tuple(
            _pair(k, v) if len(k) + len(v) <= _MAX_PAIR else (k, v)
            for k, v in sorted(self._relabel(labels).items())
            if v
        )

    def _officially(self, line: str) -> list[Sample] | None:
        if len(line) > _MAX_LINE:
            return None
        try:
            families = list(text_string_to_metric_families(line))
        except (ValueError, IndexError, KeyError):
            return None
        found = []
        for sample in (sample for family in families for sample in family.samples):
            if self._is_wanted(sample.name):
                found.append(Sample(*self._series(sample.name, dict(sample.labels)), sample.value))
        return found

    def _describe(self, line: str) -> None:
        self._meta.add(hash(line))
        words = line.split(None, 3)
        if len(words) < 3 or words[1] not in ("HELP", "TYPE"):
            return
        name, rest = words[2], words[3] if len(words) > 3 else ""
        known = self._families.get(name, Family(name))
        if words[1] == "HELP":
            known = known._replace(help=rest.replace("\\n", " ").replace("\\\\", "\\")[:300])
        else:
            known = known._replace(type=_TYPES.get(rest.strip(), "unknown"))
        self._families[name] = known._replace(unit=unit_of(name, known.type))


@lru_cache(maxsize=100_000)
def _pair(name: str, value: str) -> tuple[str, str]:
    return intern(name), value


def _unescaped(matched: re.Match[str]) -> str:
    return "\n" if matched[1] == "n" else matched[1]


def described(names: Iterable[str], families: dict[str, Family]) -> list[Family]:
    """The metric families that the series names belong to. If only the base name is known, as for a
    histogram's ``_count``, the family is derived from it.
    """
    found = []
    for name in names:
        family = families.get(name)
        if family is None:
            ending = next((ending for ending in _ENDINGS if name.endswith(ending)), "")
            base = families.get(name.removesuffix(ending), Family(name))
            kind = base.type
            if kind == "histogram" and ending:
                kind = "histogram" if ending == "_bucket" else "counter"
            unit = base.unit if ending in ("_sum", "_total") else "count" if ending else base.unit
            family = Family(name, kind, base.help, unit)
        found.append(family)
    return found


def unit_of(name: str, kind: str) -> str:
    """The unit implied by a name such as ``ray_node_mem_used`` or ``..._bytes``, or "" if unknown."""
    base = name.removesuffix("_total")
    if base.startswith("ray_node_"):
        known = _NODE_UNITS.get(base.removeprefix("ray_node_"))
        if known is not None:
            return known
    for ending, unit in _UNITS:
        if base.endswith(ending):
            return unit
    return "count" if kind == "counter" else ""


_UNITS = (
    ("_bytes", "bytes"),
    ("_memory", "bytes"),
    ("_percentage", "percent"),
    ("_percent", "percent"),
    ("_utilization", "percent"),
    ("_seconds", "s"),
    ("_duration_s", "s"),
    ("_count", "count"),
    ("_objects", "count"),
)
_NODE_UNITS = {
    "mem_used": "bytes",
    "mem_available": "bytes",
    "mem_total": "bytes",
    "mem_used_host": "bytes",
    "mem_total_host": "bytes",
    "swap_used": "bytes",
    "swap_total": "bytes",
    "cgroup_mem_used": "bytes",
    "cgroup_mem_total": "bytes",
    "disk_io_read": "bytes",
    "disk_io_write": "bytes",
    "disk_usage": "bytes",
    "disk_free": "bytes",
    "disk_io_read_speed": "bytes/s",
    "disk_io_write_speed": "bytes/s",
    "network_sent": "bytes",
    "network_received": "bytes",
    "network_send_speed": "bytes/s",
    "network_receive_speed": "bytes/s",
    "gpus_utilization": "percent",
}
