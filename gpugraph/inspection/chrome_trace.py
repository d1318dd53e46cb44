"""Step statistics as a trace in the JSON format of Chrome's trace viewer, which Perfetto also
opens.

Each device is a process of the trace. The threads of such a process are lanes of steps. The steps
in one lane do not overlap. A transfer is an arrow from the step that computes a tensor to the step
that receives it. The number of live bytes is a counter. Times are microseconds since the first
step.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_LABEL = re.compile(r"(?P<name>.*?) = (?P<op>[^(\s]*)\((?P<inputs>[^)]*)\)(?P<rest>.*)", re.DOTALL)

Event = dict[str, Any]

DATA_DEVICE = "tf.data"
"""The name, among the devices, of the threads that read pipelines of data."""


class TraceEvents:
    """A collection of the events of one or more runs. Each device becomes a process of the
    trace.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._processes: dict[str, int] = {}
        self._lanes: set[tuple[int, int]] = set()
        self._numbers: dict[str, int] = {}
        self._flows = 0
        self._origin_ns: int | None = None  # relative times keep fractions of microseconds

    def add(self, step_stats: Any, dataflow: bool = True, memory: bool = True) -> None:
        """Add the steps of one run.

        Args:
          step_stats: the StepStats message of the run.
          dataflow: whether to add arrows for tensors that move between devices.
          memory: whether to add counters of live bytes.
        """
        steps = [
            (device.device, stats) for device in step_stats.dev_stats for stats in device.node_stats
        ]
        if self._origin_ns is None:
            moments = ("scheduled", "all_start")
            starts = [_nanos(stats, name) for _, stats in steps for name in moments]
            self._origin_ns = min(filter(None, starts), default=0)
        spans: dict[tuple[str, str], Event] = {}
        for device in step_stats.dev_stats:
            is_named = device.device == DATA_DEVICE
            lanes = NamedLanes(device.thread_names, self._numbers) if is_named else Lanes()
            for stats in sorted(device.node_stats, key=start_of):
                event = self._step(device.device, stats, lanes)
                spans[device.device, stats.node_name] = event
        if dataflow:
            for device, stats in steps:
                self._transfer(device, stats, spans)
        if memory:
            for device, stats in steps:
                self._counters(device, stats)

    def as_dict(self) -> dict[str, Any]:
        """Return the trace as a dict that can be converted to JSON."""
        return {"traceEvents": self.events, "displayTimeUnit": "ms"}

    def as_json(self, indent: int | None = None) -> str:
        """Return the trace as JSON text."""
        return json.dumps(self.as_dict(), indent=indent, sort_keys=indent is not None)

    def _moment(self, stats: Any, name: str) -> float:
        """Return one of a step's points in time, in microseconds since the first step of the first
        run.

        Args:
          name: the name of a time in NodeExecStats, without its unit, such as "all_start".
        """
        return max(_nanos(stats, name) - (self._origin_ns or 0), 0) / 1000

    def _process(self, device: str) -> int:
        pid = self._processes.get(device)
        if pid is None:
            pid = self._processes[device] = len(self._processes) + 1
            self._metadata("process_name", pid, 0, {"name": device})
            self._metadata("process_sort_index", pid, 0, {"sort_index": pid})
        return pid

    def _metadata(self, name: str, pid: int, tid: int, args: Mapping[str, Any]) -> None:
        self.events.append({"name": name, "ph": "M", "pid": pid, "tid": tid, "args": dict(args)})

    def _step(self, device: str, stats: Any, lanes: Lanes | NamedLanes) -> Event:
        pid = self._process(device)
        start, duration = self._moment(stats, "all_start"), duration_of(stats)
        if isinstance(lanes, NamedLanes):
            tid, name = lanes.lane(stats)
        else:
            tid, _ = lanes.lane(start, duration)
            name = f"stream {tid}"
        if (pid, tid) not in self._lanes:
            self._lanes.add((pid, tid))
            self._metadata("thread_name", pid, tid, {"name": name})
        op_type, inputs, rest = parts_of(stats)
        args: dict[str, Any] = {"name": stats.node_name, "op": op_type}
        args |= {f"input{index}": name for index, name in enumerate(inputs)}
        if rest:
            args["how"] = rest.lstrip(", ")
        if stats.scheduled_micros:
            args["waited_us"] = round(start - self._moment(stats, "scheduled"), 3)
        event = {
            "name": op_type,
            "cat": "Transfer" if is_transfer(op_type) else "Op",
            "ph": "X",
            "pid": pid,
            "tid": tid,
            "ts": start,
            "dur": duration,
            "args": args,
        }
        self.events.append(event)
        return event

    def _transfer(self, device: str, stats: Any, spans: Mapping[tuple[str, str], Event]) -> None:
        """If a step receives a tensor, add an arrow to it from the step that computed the
        tensor.
        """
        op_type, inputs, _ = parts_of(stats)
        if op_type != "_Recv" or not inputs or " @" not in inputs[0]:
            return
        tensor, _, source = inputs[0].partition(" @")
        sender = spans.get((source, tensor.partition(":")[0]))
        if sender is None:
            return
        receiver, self._flows = spans[device, stats.node_name], self._flows + 1
        for phase, event, moment in (
            ("s", sender, sender["ts"] + sender["dur"]),
            ("f", receiver, max(receiver["ts"], sender["ts"] + sender["dur"])),
        ):
            arrow = {
                "name": tensor,
                "cat": "Transfer",
                "ph": phase,
                "id": self._flows,
                "pid": event["pid"],
                "tid": event["tid"],
                "ts": round(moment, 3),
            }
            self.events.append(arrow | ({"bp": "e"} if phase == "f" else {}))

    def _counters(self, device: str, stats: Any) -> None:
        pid = self._process(device)
        for used in stats.memory:
            counter = {
                "name": f"live bytes of {used.allocator_name}",
                "cat": "Memory",
                "ph": "C",
                "pid": pid,
                "tid": 0,
                "ts": self._moment(stats, "all_start"),
                "args": {"bytes": used.allocator_bytes_in_use},
            }
            self.events.append(counter)


class Lanes:
    """Assigns the steps of one device to lanes, so that the steps in one lane do not overlap."""

    def __init__(self) -> None:
        self._ends: list[float] = []

    def lane(self, start: float, duration: float) -> tuple[int, bool]:
        """Return the number of the first lane that is free at `start`, and whether the lane is new.

        Numbers start from 0.
        """
        for number, end in enumerate(self._ends):
            if end <= start:
                self._ends[number] = start + duration
                return number, False
        self._ends.append(start + duration)
        return len(self._ends) - 1, True


class NamedLanes:
    """Lanes for calls that already have a lane: one lane for each thread and depth of nesting.

    Args:
      numbers: the numbers of the lanes of all runs, by name.
    """

    def __init__(self, names: Mapping[int, str], numbers: dict[str, int]) -> None:
        self._names, self._numbers = names, numbers

    def lane(self, stats: Any) -> tuple[int, str]:
        """Return the number and the name of the lane of a call."""
        name = self._names[stats.thread_id]
        return self._numbers.setdefault(name, len(self._numbers)), name


def start_of(stats: Any) -> float:
    """Return the start of a step, in microseconds since the epoch."""
    nanos: int = stats.all_start_nanos
    return round(nanos / 1000, 3) if nanos else float(stats.all_start_micros)


def _nanos(stats: Any, name: str) -> int:
    nanos: int = getattr(stats, f"{name}_nanos") or getattr(stats, f"{name}_micros") * 1000
    return nanos


def duration_of(stats: Any) -> float:
    """Return the duration of a step in microseconds. The minimum is 0.001, so that viewers show the
    step.
    """
    nanos: int = stats.all_end_rel_nanos
    return max(round(nanos / 1000, 3) if nanos else float(stats.all_end_rel_micros), 0.001)


def parts_of(stats: Any) -> tuple[str, list[str], str]:
    """Return the op type, the inputs and the remaining text of a step's label, `name =
    Op(inputs)rest`.

    If a label does not have this form, the inputs and the remaining text are empty. The op type is
    then the text after " = ", or the node's name if the label has no " = ".
    """
    match = _LABEL.fullmatch(stats.timeline_label)
    if match is None:
        return stats.timeline_label.partition(" = ")[2] or stats.node_name, [], ""
    inputs = [name for name in match["inputs"].split(", ") if name]
    return match["op"], inputs, match["rest"]


def is_transfer(op_type: str) -> bool:
    """Return whether an op moves a tensor between devices."""
    return op_type in ("_Send", "_Recv", "_HostSend", "_HostRecv")


def trace_faults(trace: Any) -> Iterator[str]:
    """Yield a sentence for each violation of the rules that trace viewers rely on.

    The rules: Every event has the fields that its phase requires. Times are not negative. The steps
    of a lane do not overlap. The start and the end of each arrow lie within steps, and the start is
    not later than the end. Processes have names.
    """
    if not isinstance(trace, dict) or not isinstance(trace.get("traceEvents"), list):
        yield "the trace is not an object with a list 'traceEvents'"
        return
    events = trace["traceEvents"]
    for index, event in enumerate(events):
        for fault in _event_faults(event):
            yield f"event {index}: {fault}"
            return
    yield from _name_faults(events)
    yield from _overlap_faults([event for event in events if event["ph"] == "X"])
    yield from _arrow_faults(events)


_NEEDED: dict[str, dict[str, tuple[type, ...]]] = {
    "M": {"args": (dict,)},
    "X": {"ts": (int, float), "dur": (int, float), "cat": (str,), "args": (dict,)},
    "C": {"ts": (int, float), "args": (dict,)},
    "s": {"ts": (int, float), "id": (int,), "cat": (str,)},
    "f": {"ts": (int, float), "id": (int,), "cat": (str,), "bp": (str,)},
}


def _event_faults(event: Any) -> Iterator[str]:
    if not isinstance(event, dict) or event.get("ph") not in _NEEDED:
        yield "it is not an event of a known phase"
        return
    needed = {"name": (str,), "pid": (int,), "tid": (int,), **_NEEDED[event["ph"]]}
    for key, types in needed.items():
        if not isinstance(event.get(key), types) or isinstance(event[key], bool):
            yield f"its '{key}' is {event.get(key)!r}"
    for key in ("ts", "dur"):
        if isinstance(event.get(key), (int, float)) and not 0 <= event[key] < float("inf"):
            yield f"its '{key}' is {event[key]}"
    if event["ph"] == "C" and not all(
        isinstance(value, (int, float)) and value >= 0 for value in event["args"].values()
    ):
        yield "its counter is not a number of at least 0"


def _name_faults(events: Iterable[Event]) -> Iterator[str]:
    named = {e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    lanes = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    for event in events:
        if event["pid"] not in named:
            yield f"process {event['pid']} has no name"
        if event["ph"] == "X" and (event["pid"], event["tid"]) not in lanes:
            yield f"lane {event['tid']} of process {event['pid']} has no name"


def _overlap_faults(steps: list[Event]) -> Iterator[str]:
    ends: dict[tuple[int, int], float] = {}
    for step in sorted(steps, key=lambda event: event["ts"]):
        lane = (step["pid"], step["tid"])
        if step["ts"] < ends.get(lane, 0.0) - 0.0015:  # tolerance for rounding of times
            yield f"'{step['args'].get('name')}' begins before the step before it ends"
        ends[lane] = step["ts"] + step["dur"]


def _arrow_faults(events: Iterable[Event]) -> Iterator[str]:
    arrows: dict[int, dict[str, Event]] = {}
    spans: dict[tuple[int, int], list[Event]] = {}
    for event in events:
        if event["ph"] == "X":
            spans.setdefault((event["pid"], event["tid"]), []).append(event)
        if event["ph"] in "sf":
            ends = arrows.setdefault(event["id"], {})
            if event["ph"] in ends:
                yield f"arrow {event['id']} has two ends of one kind"
            ends[event["ph"]] = event
    for number, ends in arrows.items():
        if set(ends) != {"s", "f"}:
            yield f"arrow {number} has one end"
        elif ends["s"]["ts"] > ends["f"]["ts"]:
            yield f"arrow {number} goes back in time"
        for end in ends.values():
            around = spans.get((end["pid"], end["tid"]), [])
            if not any(
                step["ts"] - 0.002 <= end["ts"] <= step["ts"] + step["dur"] + 0.002
                for step in around
            ):
                yield f"an end of arrow {number} is in no step"
