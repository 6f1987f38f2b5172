"""Reading exported traces as the programs do that they are made for, with their own definitions."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos


@dataclass
class Slice:
    """A slice on a track, ns; ``depth``: how many are around it."""

    track: int
    name: str
    category: str
    begin: int
    end: int
    depth: int
    args: dict[str, Any]


@dataclass
class Trace:
    """The content of a trace. ``arrows``: pairs of slices; an instant is a slice without length."""

    tracks: dict[int, tuple[str, str]] = field(default_factory=dict)
    slices: list[Slice] = field(default_factory=list)
    instants: list[Slice] = field(default_factory=list)
    arrows: list[tuple[Slice, Slice]] = field(default_factory=list)
    counters: dict[tuple[str, str], list[tuple[int, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def named(self, name: str, category: str = "task") -> Slice:
        """The one slice of that name."""
        (found,) = [one for one in self.slices if (one.name, one.category) == (name, category)]
        return found

    def place(self, each: Slice) -> tuple[str, str]:
        """The names of the process and of the track of a slice."""
        return self.tracks[each.track]


def read_perfetto(content: bytes) -> Trace:
    """As Perfetto's trace processor: events by time (those of one time as in the file), a stack a track."""
    raw = protos.Trace()
    raw.ParseFromString(content)
    trace = Trace()
    names: dict[int, str] = {}
    categories: dict[int, str] = {}
    keys: dict[int, str] = {}
    processes: dict[int, str] = {}
    numbers: dict[int, tuple[str, str]] = {}
    events = []
    assert raw.packet[0].sequence_flags & 1, "no packet says that the sequence begins"
    for packet in raw.packet:
        assert packet.trusted_packet_sequence_id
        for one in packet.interned_data.event_names:
            names[one.iid] = one.name
        for one in packet.interned_data.event_categories:
            categories[one.iid] = one.name
        for one in packet.interned_data.debug_annotation_names:
            keys[one.iid] = one.name
        if packet.HasField("track_descriptor"):
            made = packet.track_descriptor
            if made.HasField("process"):
                processes[made.process.pid] = made.process.process_name
            elif made.HasField("counter"):
                numbers[made.uuid] = (processes[made.parent_uuid], made.name)
            else:
                assert made.thread.tid != made.thread.pid
                trace.tracks[made.uuid] = (processes[made.thread.pid], made.thread.thread_name)
        elif packet.HasField("track_event"):
            event = packet.track_event
            assert event.track_uuid in trace.tracks or event.track_uuid in numbers
            # Names that are interned later must not change this event.
            name, category = names.get(event.name_iid), [categories[iid] for iid in event.category_iids]
            args = {
                keys[arg.name_iid]: getattr(arg, arg.WhichOneof("value")) for arg in event.debug_annotations
            }
            events.append((packet.timestamp, event, name, "".join(category), args))
    events.sort(key=lambda event: event[0])
    open_slices: dict[int, list[Slice]] = defaultdict(list)
    flows: dict[int, Slice] = {}
    for at, event, name, category, args in events:
        track, kind = event.track_uuid, event.type
        if kind == event.TYPE_COUNTER:
            trace.counters[numbers[track]].append((at, event.double_counter_value))
            continue
        if kind == event.TYPE_SLICE_END:
            one = open_slices[track].pop()
            one.end = at
        else:
            assert name
            one = Slice(track, name, category, at, at, len(open_slices[track]), args)
            if kind == event.TYPE_SLICE_BEGIN:
                open_slices[track].append(one)
                trace.slices.append(one)
            else:
                trace.instants.append(one)
        for flow in event.flow_ids:
            assert flow not in flows
            flows[flow] = one
        for flow in event.terminating_flow_ids:
            if flow in flows:
                trace.arrows.append((flows.pop(flow), one))
    assert not any(open_slices.values())
    return trace
