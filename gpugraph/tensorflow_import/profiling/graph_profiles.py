"""`tf.profiler.profile` and `Profiler`: profiles of a graph by name scope and by op type.

Numbers of parameters and of floating-point operations follow from static shapes. Times and memory
come from the statistics of runs (`RunMetadata`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gpugraph.base.shapes import TensorShape
from gpugraph.formats.messages_pb2 import GraphNodeProto, MultiGraphNodeProto
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.inspection.timeline import Timeline
from gpugraph.platform.files import GFile
from gpugraph.tensorflow_import.profiling.float_operations import float_operations
from gpugraph.tensorflow_import.profiling.profile_options import (
    TRAINABLE_VARIABLES,
    ProfileOptionBuilder,
)

_ROOT = "_TFProfRoot"
_VARIABLES = ("Variable", "VariableV2", "VarHandleOp", "AutoReloadVariable")
_FIELDS = (
    *("run_count", "exec_micros", "accelerator_exec_micros", "cpu_exec_micros"),
    *("requested_bytes", "peak_bytes", "output_bytes", "parameters", "float_ops"),
)
_MINIMA = {
    "min_bytes": "requested_bytes",
    "min_peak_bytes": "peak_bytes",
    "min_output_bytes": "output_bytes",
    "min_micros": "exec_micros",
    "min_accelerator_micros": "accelerator_exec_micros",
    "min_cpu_micros": "cpu_exec_micros",
    "min_params": "parameters",
    "min_float_ops": "float_ops",
}
_ORDERS = {
    "micros": "exec_micros",
    "accelerator_micros": "accelerator_exec_micros",
    "cpu_micros": "cpu_exec_micros",
    "bytes": "requested_bytes",
    "peak_bytes": "peak_bytes",
    "output_bytes": "output_bytes",
    "params": "parameters",
    "float_ops": "float_ops",
}
_COLUMNS = {**_ORDERS, "occurrence": "run_count"}
_UNITS = {"params": "params", "float_ops": "flops", "occurrence": "runs"}

Counts = dict[str, int]


class _Node(NamedTuple):
    """An operation, with its op type, the types by which options select it, and its counts."""

    op_type: str
    types: list[str]
    counts: Counts
    devices: list[str]


def profile(
    graph: Graph | None = None,
    run_meta: Any = None,
    op_log: Any = None,
    cmd: str = "scope",
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Return the profile of a graph, and print it as `options` request.

    Raises ValueError for an unknown command, and NotImplementedError for "graph" and "code".

    Args:
      graph: the graph, by default the default graph.
      run_meta: a `RunMetadata` with statistics of a run, for times and memory.
      op_log: ignored.
      cmd: "scope" for a tree of name scopes, or "op" for a list of op types.
      options: a dict, built by `ProfileOptionBuilder`. By default, all available counts are
        printed.

    Returns:
      The root, a GraphNodeProto for "scope", or a MultiGraphNodeProto for "op". Its totals are the
      fields `total_float_ops`, `total_parameters`, `total_exec_micros` and others.
    """
    del op_log
    profiler = Profiler(graph)
    if run_meta is not None:
        profiler.add_step(-1, run_meta)
    if options is None:
        options = ProfileOptionBuilder().select([*_COLUMNS]).build()
    if cmd == "scope":
        return profiler.profile_name_scope(options)
    if cmd == "op":
        return profiler.profile_operations(options)
    if cmd in ("graph", "code"):
        raise NotImplementedError(f"There is no profile by {cmd}: use the cmd 'scope' or 'op'")
    raise ValueError(f"unknown command: {cmd}; the commands are 'scope' and 'op'")


class Profiler:
    """Profiles of a graph over several runs.

    Args:
      graph: the graph, by default the default graph.
      op_log: ignored.
    """

    def __init__(self, graph: Graph | None = None, op_log: Any = None) -> None:
        del op_log
        self._graph = graph or get_default_graph()
        self._steps: dict[int, list[Any]] = {}

    def add_step(self, step: int, run_meta: Any) -> None:
        """Add the statistics of a run to the step with this number."""
        self._steps.setdefault(step, []).append(run_meta)

    def profile_name_scope(self, options: Mapping[str, Any]) -> Any:
        """Return the root of a tree of name scopes, a GraphNodeProto, and print it."""
        nodes = self._nodes(options)
        tree: dict[str, list[str]] = {_ROOT: []}
        for name in nodes:
            path = ""
            for part in name.split("/"):
                parent, path = path or _ROOT, f"{path}/{part}" if path else part
                if path not in tree:
                    tree[path] = []
                    tree[parent].append(path)
        root = _scope(_ROOT, tree, nodes, options, 0) or GraphNodeProto(name=_ROOT)
        self._print(root, options)
        return root

    def profile_operations(self, options: Mapping[str, Any]) -> Any:
        """Return the op types of a graph, a MultiGraphNodeProto, and print them."""
        nodes = self._nodes(options)
        root = MultiGraphNodeProto(name=_ROOT)
        by_type: dict[str, Any] = {}
        for name, node in nodes.items():
            if not _is_shown(name, node, options):
                continue
            entry = by_type.setdefault(node.op_type, MultiGraphNodeProto(name=node.op_type))
            entry.graph_nodes.append(_message(name, node))
            _add(entry, node.counts, ("", "total_"))
            _add(root, node.counts, ("total_",))
        minimum = options.get("min_occurrence") or 0
        entries = [entry for entry in by_type.values() if len(entry.graph_nodes) >= minimum]
        root.children.extend(_sorted(entries, options))
        self._print(root, options)
        return root

    def _nodes(self, options: Mapping[str, Any]) -> dict[str, _Node]:
        """Return all operations by name. Operations whose type the options do not select have the
        counts 0.
        """
        trainable = {
            variable.op.name for variable in self._graph.get_collection("trainable_variables")
        }
        statistics = _statistics(self._runs(options))
        patterns = [re.compile(text) for text in options.get("account_type_regexes", (".*",))]
        nodes = {}
        for operation in self._graph.get_operations():
            counts = dict.fromkeys(_FIELDS, 0) | statistics.get(operation.name, {})
            types = [operation.type, operation.device]
            if operation.type in _VARIABLES:
                shape = TensorShape(operation.get_attr("shape"))
                counts["parameters"] = shape.num_elements() or 0
                types += [TRAINABLE_VARIABLES] if operation.name in trainable else []
            if not any(pattern.fullmatch(name) for pattern in patterns for name in types):
                counts = dict.fromkeys(_FIELDS, 0)
            else:
                counts["float_ops"] = float_operations(operation)
            device = [operation.device] if operation.device else []
            nodes[operation.name] = _Node(operation.type, types, counts, device)
        return nodes

    def _runs(self, options: Mapping[str, Any]) -> list[Any]:
        step = options.get("step", -1)
        chosen = self._steps.values() if step in (-1, None) else [self._steps.get(step, [])]
        return [run for runs in chosen for run in runs]

    def _print(self, root: Any, options: Mapping[str, Any]) -> None:
        """Write the profile to the output that the options select."""
        kind, _, argument = options.get("output", "stdout").partition(":")
        file = argument.partition("outfile=")[2]
        if kind == "stdout":
            print("\n".join(_lines(root, options)), file=sys.stdout)
        elif kind == "file":
            with GFile(file, "w") as stream:
                stream.write("\n".join([*_lines(root, options), ""]))
        elif kind == "timeline":
            runs = self._runs(options)
            if not runs:
                raise ValueError("A timeline needs the statistics of a run: add_step(0, run_meta)")
            with GFile(file, "w") as stream:
                stream.write(Timeline(runs[-1].step_stats).generate_chrome_trace_format())
        elif kind != "none":
            raise NotImplementedError(
                f"The output {kind!r} is not written: use a file or a timeline"
            )


def _statistics(runs: Iterable[Any]) -> dict[str, Counts]:
    """Return the times and memory of operations by name, from the statistics of runs."""
    result: dict[str, Counts] = {}
    for run in runs:
        for device in run.step_stats.dev_stats:
            on_gpu = "gpu" in device.device.lower()
            for node in device.node_stats:
                counts = result.setdefault(node.node_name, dict.fromkeys(_FIELDS, 0))
                micros = node.all_end_rel_micros
                counts["run_count"] += 1
                counts["exec_micros"] += micros
                counts["accelerator_exec_micros" if on_gpu else "cpu_exec_micros"] += micros
                counts["requested_bytes"] += sum(used.total_bytes for used in node.memory)
                counts["peak_bytes"] += sum(used.peak_bytes for used in node.memory)
                counts["output_bytes"] += sum(
                    output.tensor_description.allocation_description.requested_bytes
                    for output in node.output
                )
    return result


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in patterns)


def _is_shown(name: str, node: _Node | None, options: Mapping[str, Any]) -> bool:
    """Return whether the options display a node."""
    if not _matches(name, options.get("show_name_regexes", (".*",))):
        return False
    if _matches(name, options.get("hide_name_regexes", ())):
        return False
    types = options.get("account_type_regexes", (".*",))
    if node is None or not any(_matches(kind, types) for kind in node.types):
        return False
    return all(
        node.counts[field] >= (options.get(option) or 0) for option, field in _MINIMA.items()
    )


def _message(name: str, node: _Node) -> Any:
    message = GraphNodeProto(name=name, devices=node.devices)
    _add(message, node.counts, ("", "total_"))
    message.total_definition_count = 1
    return message


def _add(message: Any, counts: Mapping[str, int], prefixes: Iterable[str]) -> None:
    """Add the counts to those fields of a message that exist."""
    known = message.DESCRIPTOR.fields_by_name
    for prefix in prefixes:
        for field in _FIELDS:
            if prefix + field in known:
                setattr(message, prefix + field, getattr(message, prefix + field) + counts[field])


def _scope(
    name: str,
    tree: Mapping[str, list[str]],
    nodes: Mapping[str, _Node],
    options: Mapping[str, Any],
    depth: int,
) -> Any:
    """Return the message of a name scope or operation, with the messages of everything below it. If
    none of these is displayed, return None.
    """
    if _matches(name, options.get("trim_name_regexes", ())):
        return None
    node = nodes.get(name)
    is_shown = _is_shown(name, node, options)
    message = GraphNodeProto(name=name)
    if node is not None and (is_shown or not options.get("account_displayed_op_only")):
        message = _message(name, node)
    parts = [_scope(child, tree, nodes, options, depth + 1) for child in tree[name]]
    children = [child for child in parts if child is not None]
    for child in children:
        for field in (*_FIELDS, "definition_count"):
            total = f"total_{field}"
            setattr(message, total, getattr(message, total) + getattr(child, total))
    if depth < options.get("max_depth", 100):
        message.children.extend(_sorted(children, options))
    is_counted = is_shown or bool(children) or not options.get("account_displayed_op_only")
    return message if is_counted else None


def _sorted(messages: list[Any], options: Mapping[str, Any]) -> list[Any]:
    """Sort messages as the options request: by name, or by an attribute, the largest first."""
    field = _ORDERS.get(options.get("order_by", "name"))
    if field is None:
        return sorted(messages, key=lambda message: message.name)
    return sorted(messages, key=lambda message: -getattr(message, f"total_{field}"))


def _lines(root: Any, options: Mapping[str, Any]) -> list[str]:
    """Return the lines of a printed profile."""
    columns = [name for name in options.get("select", ()) if name in _COLUMNS]
    lines = ["", f"node name | {' | '.join(columns)}"]
    pending = [(root, 0)]
    while pending:
        message, depth = pending.pop()
        parts = [_column(message, column) for column in columns]
        lines.append(f"{'  ' * depth}{message.name} ({', '.join(parts)})")
        pending += [(child, depth + 1) for child in reversed(message.children)]
    return lines


def _column(message: Any, column: str) -> str:
    """Return a column's value for the node alone and in total, such as "1.20k/475.64k flops"."""
    field = _COLUMNS[column]
    values = [getattr(message, name, 0) for name in (field, f"total_{field}")]
    unit = _UNITS.get(column, column)
    return "/".join(_short(value) for value in values) + f" {unit}"


def _short(value: int) -> str:
    for size, letter in ((10**9, "b"), (10**6, "m"), (10**3, "k")):
        if value >= size:
            return f"{value / size:.2f}{letter}"
    return str(value)


TRAINABLE_VARS_PARAMS_STAT_OPTIONS = ProfileOptionBuilder.trainable_variables_parameter()
FLOAT_OPS_OPTIONS = ProfileOptionBuilder.float_operation()
PRINT_ALL_TIMING_MEMORY = ProfileOptionBuilder.time_and_memory()


def print_model_analysis(
    graph: Graph,
    run_meta: Any = None,
    op_log: Any = None,
    tfprof_cmd: str = "scope",
    tfprof_options: Mapping[str, Any] = PRINT_ALL_TIMING_MEMORY,
) -> Any:
    """Return the profile of a graph, and print it. This is `profile` under the name of
    `tf.contrib.tfprof`.
    """
    return profile(graph, run_meta, op_log, tfprof_cmd, tfprof_options)
