"""The unit: the record of one compilation, which the passes fill and change.

Each pass fills its own fields and leaves a `PassReport`. `verify` checks the invariants after each
pass.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from types import MappingProxyType
from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.errors import InternalError, InvalidArgumentError, OpError
from gpugraph.base.misfit import INPUT_NAME, misfit_of
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.compile.unit.guards import Flow
from gpugraph.config import ConfigProto
from gpugraph.devices import Device, Resources, RunMemory
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.graph.nodes.runtime_graph import Node, RuntimeGraph
from gpugraph.graph.op_def import RECOMPUTED, RECOMPUTES
from gpugraph.kernel import Kernel
from gpugraph.ops.framework.kernel_registry import HostOnly, find_kernel
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.run_refusals import run_refusal
from gpugraph.plan import Mailbox, PassReport, PlanKey, Transfer

TensorId = tuple[int, int]
"""A tensor of the runtime graph: node id and output slot."""

Source = tuple[Node, int]
"""A node and one of its output slots."""


class FeedSpec(NamedTuple):
    """A tensor to be fed: its name, dtype and shape (None, or open sizes: known at each run)."""

    name: str
    dtype: DType
    shape: tuple[int | None, ...] | None


class RunRequest(NamedTuple):
    """The run of a graph to compile, with its feeds, fetches and targets.

    connections: tensors that are fed from other tensors of the graph, each with its source.
    done: operations that have run before, which are not waited for.
    """

    graph: Graph
    feeds: Sequence[FeedSpec]
    fetches: Sequence[Tensor]
    targets: Sequence[Operation]
    connections: Mapping[Tensor, Tensor] = MappingProxyType({})
    done: Collection[Operation] = ()

    @property
    def key(self) -> PlanKey:
        """The key of the plan."""
        return PlanKey(
            tuple((feed.name, feed.shape) for feed in self.feeds),
            tuple(tensor.name for tensor in self.fetches),
            tuple(op.name for op in self.targets),
        )


class Target(NamedTuple):
    """The session's side of a compilation: devices, lasting state, settings.

    task: the task of a cluster that these devices belong to; all ops are placed there, whatever
    task they request, as the cluster's placement has decided.
    run_memory: memory that the plan time-shares with others; separate memory if None.
    """

    devices: Sequence[Device]
    resources: Resources
    config: ConfigProto
    no_gpu: str
    verify: bool
    new_mailbox: Callable[[], Mailbox]
    task: str = ""
    run_memory: RunMemory | None = None


RECOMPUTE_HINT = "_recompute_hint"
"""TensorFlow's attr of ops that gradients compute again, with any value."""

_KEPT_ATTRS = (RECOMPUTE_HINT, RECOMPUTED, RECOMPUTES)
"""Attrs that are copied from an op to its replacement."""


def variable_key(node: Node) -> tuple[str, str]:
    """Return container and name of a VariableV2: nodes with equal ones are one variable."""
    return node.attrs.get("container", ""), node.attrs.get("shared_name") or node.name


def node_error(node: Node, message: str) -> InvalidArgumentError:
    """Return an error in TensorFlow's words: the message, the node, and where it was defined."""
    return InvalidArgumentError(node.node_def, None, message + _at_node(node))


def _at_node(node: Node) -> str:
    return f"\n\t [[node {node.name} (defined at {node.origin})]]"


def inference_error(node: Node, context: InferContext, error: Exception) -> OpError:
    """Return the error of an op that refuses the shapes or values of its inputs."""
    refusal = run_refusal(context, node.name, node.type)
    if refusal is not None:
        return refusal.error_class(node.node_def, None, refusal.words + _at_node(node))
    misfit = misfit_of(error)
    message = misfit.in_run
    if INPUT_NAME in message:
        message = message.replace(INPUT_NAME, node.input_names()[0])
    if not message:
        shapes = ", ".join(map(shape_text, context.shapes))
        of_op = f"'{node.name}' (op: '{node.type}') with input shapes: {shapes}"
        message = f"{misfit.in_graph} for {of_op}{misfit.behind}"
    return misfit.error_class(node.node_def, None, message + _at_node(node))


def leader_name(entry: str | bytes) -> str:
    """Return the node in an entry of the attr `_class`, with which the owner is colocated."""
    name = entry.decode() if isinstance(entry, bytes) else entry
    return name.removeprefix("loc:@")


@dataclass(slots=True, eq=False)
class Storage:
    """Bytes that one or more tensors share, live from step `first` to step `last`.

    `kind` is "arena" (an offset in a device's block), "constant" (the array of a Const), "variable"
    (the session's), "cell" (allocated during a run), "object" (a handle) or "aside" (memory that
    binding takes: a side buffer for exchanging loop variables, or pinned).
    """

    kind: str
    device: str
    size: int
    first: int
    last: int
    owner: str
    offset: int = 0
    node: Node | None = None


class Home(NamedTuple):
    """The location of a tensor: its storage and its static shape (None: known during a run)."""

    storage: Storage
    shape: tuple[int, ...] | None
    dtype: DType


class Absorbed(NamedTuple):
    """An op that was removed, since op `by` includes it; `relation` is the text before `by`."""

    op_type: str
    origin: Any
    by: str
    relation: str


class Swap(NamedTuple):
    """A tensor of a GPU that is on the host between two uses.

    Nodes are identified by name, since the choice is made in one unit and applied in the next one
    of the same run.

    source, slot: the tensor. uses: the inputs (node, index) that read the copy, directly
    or by a view. leaves: the node after which it is on the host. begins, ends: the nodes between
    which it is copied back. why: the reason for the choice.
    """

    source: str
    slot: int
    num_bytes: int
    uses: tuple[tuple[str, int], ...]
    leaves: str
    begins: str
    ends: str
    why: str


def no_advice(device: str, available: int) -> Sequence[str]:
    """Return no advice: the default of `Unit.advise`."""
    return ()


@dataclass
class Unit:
    """One compilation. Dicts are keyed by node id, or by tensor.

    prune fills args, retvals, roots and kin (from a variable's node id to the ops outside this run
    that refer to it, as nodes of another graph); fold shapes, values, folded and failures (for
    conditional nodes that refuse their inputs' shapes: the errors of runs that reach them);
    transposes, cancel, common and remap absorbed (by name, the ops that others include); place
    reasons; fuse fused (for each fused node the names, types and origins of its ops); partition
    send_recv_pairs and transfers; flow `flow`, if there is control flow; order order, depth and
    parallel (adjacent nodes that run at the same time); memory homes, storages (those in arenas),
    modes (how a node gets its memory), arena_sizes, and runs_once (whether a second run needs
    another plan).
    recomputation: how much of the forward pass gradients compute again
    (`activation_recomputation.py`).
    swaps: the tensors that are swapped to the host (`swap_choice.py`); None: not requested.
    advise: returns changes that make the arena of a device fit into a number of bytes, line by
    line.
    """

    key: PlanKey
    target: Target
    graph: RuntimeGraph
    feeds: Sequence[FeedSpec]
    args: list[Node] = field(default_factory=list)
    retvals: list[Node] = field(default_factory=list)
    roots: list[Node] = field(default_factory=list)
    kin: dict[int, list[Node]] = field(default_factory=dict)
    shapes: dict[int, Sequence[TensorShape]] = field(default_factory=dict)
    values: dict[TensorId, Any] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    folded: dict[int, str] = field(default_factory=dict)
    failures: dict[int, OpError] = field(default_factory=dict)
    send_recv_pairs: list[tuple[Node, Node]] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)
    order: list[Node] = field(default_factory=list)
    parallel: list[list[Node]] = field(default_factory=list)
    depth: dict[int, int] = field(default_factory=dict)
    homes: dict[TensorId, Home] = field(default_factory=dict)
    storages: list[Storage] = field(default_factory=list)
    modes: dict[int, str] = field(default_factory=dict)
    flow: Flow | None = None
    fused: dict[int, list[tuple[str, str, Any]]] = field(default_factory=dict)
    absorbed: dict[str, Absorbed] = field(default_factory=dict)
    arena_sizes: dict[str, int] = field(default_factory=dict)
    runs_once: bool = False
    reports: list[PassReport] = field(default_factory=list)
    recomputation: int = 0
    swaps: Sequence[Swap] | None = None
    advise: Callable[[str, int], Sequence[str]] = no_advice
    _kernels: dict[int, Kernel] = field(default_factory=dict)

    def add_op(
        self,
        op_type: str,
        like: Node,
        sources: Sequence[Source] = (),
        *,
        attrs: Mapping[str, Any],
        output_types: Sequence[DType] = (),
        suffix: str = "",
        device: str | None = None,
        shapes: Sequence[TensorShape] | None = None,
    ) -> Node:
        """Add an op that reads the values of `sources`, in the place of the node `like` or for it.

        It has the name of `like`, or with a `suffix` a new one under it; its origin; and its
        devices, unless it is assigned to `device`.
        """
        node = self.graph.add_node(
            self.graph.new_name(f"{like.name}/{suffix}") if suffix else like.name,
            DECLARATIONS[op_type].op_def,
            attrs={**{key: like.attrs[key] for key in _KEPT_ATTRS if key in like.attrs}, **attrs},
            input_types=[source.output_types[slot].base_dtype for source, slot in sources],
            output_types=output_types,
            requested_device=like.requested_device if device is None else "",
            origin=like.origin,
        )
        node.assigned_device = like.assigned_device if device is None else device
        for index, (source, slot) in enumerate(sources):
            self.graph.add_edge(source, slot, node, index)
        if shapes is not None:
            self.shapes[node.id] = shapes
        return node

    def add_copy(self, node: Node, sources: Sequence[Source], suffix: str) -> Node:
        """Add a copy of `node`, named by the suffix, that reads the values of `sources`."""
        copy = self.add_op(
            *(node.type, node, sources),
            attrs=node.attrs,
            output_types=node.output_types,
            suffix=suffix,
            shapes=self.shapes[node.id],
        )
        self.reasons[copy.id] = self.reasons[node.id]
        return copy

    def add_constant(
        self, like: Node, suffix: str, value: Any, dtype: DType | None = None, reason: str = ""
    ) -> Node:
        """Add a constant for the node `like`, or in its place; `reason` goes into the report."""
        value.setflags(write=False)
        dtype = dtype or as_dtype(value.dtype)
        attrs = {"value": value, "dtype": dtype}
        shapes = [TensorShape.of(value.shape)]
        constant = self.add_op(
            "Const", like, attrs=attrs, output_types=[dtype], suffix=suffix, shapes=shapes
        )
        self.values[constant.id, 0] = value
        if reason:
            self.folded[constant.id] = reason
        return constant

    def add_identity(self, source: Node, slot: int, suffix: str) -> Node:
        """Add an Identity of an output, with the shape of that if it is known."""
        dtype = source.output_types[slot].base_dtype
        shapes = [self.shapes[source.id][slot]] if source.id in self.shapes else None
        return self.add_op(
            "Identity",
            source,
            [(source, slot)],
            attrs={"T": dtype},
            output_types=[dtype],
            suffix=suffix,
            shapes=shapes,
        )

    def add_control_inputs(self, node: Node, sources: Iterable[Node]) -> None:
        """Make the node run after each of `sources`."""
        for source in sources:
            self.graph.add_control_edge(source, node)

    def remove(self, *nodes: Node) -> None:
        """Remove nodes and their edges."""
        self.graph.remove_nodes(nodes)
        for node in nodes:
            self.shapes.pop(node.id, None)
            self.folded.pop(node.id, None)

    def positions(self) -> dict[int, int]:
        """Return the position of each node in the order; nodes that run in parallel share one."""
        positions = {node.id: index for index, node in enumerate(self.order)}
        for group in self.parallel:
            positions.update(dict.fromkeys((node.id for node in group), positions[group[0].id]))
        return positions

    @property
    def host(self) -> str:
        """The device whose memory holds host inputs, feeds and fetches."""
        return self.target.devices[0].name

    def kernel(self, node: Node) -> Kernel:
        """Return the kernel of a placed node. InternalError if none, which placement prevents."""
        kernel = self._kernels.get(node.id)
        if kernel is not None:
            return kernel
        entry = find_kernel(node.type, self.device_types[node.assigned_device], node.attrs)
        if entry is None or isinstance(entry.kernel, HostOnly):
            raise InternalError(
                node.node_def, None, f"'{node.name}' has no kernel on {node.assigned_device}"
            )
        self._kernels[node.id] = entry.kernel
        return entry.kernel

    @cached_property
    def device_types(self) -> dict[str, str]:
        """The type of each device, by its full name."""
        return {device.name: device.device_type for device in self.target.devices}

    @contextmanager
    def report(self, name: str) -> Iterator[Callable[[str, Sequence[str]], None]]:
        """Time a pass and yield a function, by which the pass reports its outcome."""
        start = perf_counter()
        outcome: tuple[str, Sequence[str]] = ("", ())

        def set_outcome(summary: str, lines: Sequence[str]) -> None:
            nonlocal outcome
            outcome = summary, lines

        yield set_outcome
        self.reports.append(PassReport(name, *outcome, perf_counter() - start))

    def amend(self, name: str, summary: str, lines: Sequence[str]) -> None:
        """Add lines to the report of a pass, and replace its summary unless `summary` is empty."""
        for index, known in enumerate(self.reports):
            if known.name == name:
                self.reports[index] = known._replace(
                    summary=summary or known.summary, lines=[*known.lines, *lines]
                )
