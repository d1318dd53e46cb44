"""The unit: the record of one compilation. The passes read and change the unit.

Each pass sets fields of the unit and adds a `PassReport`. If the session verifies plans, `verify`
checks the unit's invariants after each pass.
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
from gpugraph.base.shapes import TensorShape
from gpugraph.compile.unit.guards import Flow
from gpugraph.config import ConfigProto
from gpugraph.devices import Device, Resources, RunMemory
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.nodes.runtime_graph import Node, RuntimeGraph
from gpugraph.graph.op_def import RECOMPUTED, RECOMPUTES
from gpugraph.kernel import Kernel
from gpugraph.ops.framework.kernel_registry import HostOnly, find_kernel
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.plan import Mailbox, PassReport, PlanKey, Transfer

TensorId = tuple[int, int]
"""A tensor of the runtime graph: node id and output slot."""

Source = tuple[Node, int]
"""A node and one of its output slots."""


class FeedSpec(NamedTuple):
    """A tensor that will be fed: its name, dtype and shape.

    A size that differs between runs is None. The shape is None if its rank is unknown.
    """

    name: str
    dtype: DType
    shape: tuple[int | None, ...] | None


class RunRequest(NamedTuple):
    """The request to compile a run: its feeds, fetches and targets.

    Args:
      connections: maps a tensor to another tensor of the graph that replaces it in this run.
      done: operations that an earlier stage of the run has executed. Control inputs from these
        operations are omitted.
      report: a function that receives the name of a node, and returns the Size that the node's
        kernel reports in each run, or None.
    """

    graph: Graph
    feeds: Sequence[FeedSpec]
    fetches: Sequence[Tensor]
    targets: Sequence[Operation]
    connections: Mapping[Tensor, Tensor] = MappingProxyType({})
    done: Collection[Operation] = ()
    report: Callable[..., Any] | None = None

    @property
    def key(self) -> PlanKey:
        """The key of the run's plan in the session's cache."""
        return PlanKey(
            tuple((feed.name, feed.shape) for feed in self.feeds),
            tuple(tensor.name for tensor in self.fetches),
            tuple(op.name for op in self.targets),
        )


class Target(NamedTuple):
    """The part of a compilation's input that comes from the session: its devices, its state that
    outlives runs, and its settings.

    Args:
      no_gpu: the reason why the session has no GPU, if it has none.
      verify: whether the unit is verified after each pass.
      new_mailbox: a function that returns the mailbox for tensors that are sent between the plan's
        devices.
      task: the device name of the cluster's task to which these devices belong. All ops are placed
        in this task, even if they request another task, because the cluster's placement has already
        chosen the task.
      run_memory: memory that the plan time-shares with other plans, or None for separate memory.
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
"""TensorFlow's attr of ops whose outputs are recomputed for gradients; its value does not
matter.
"""

COPIES, COPY_DEVICES = "_copies", "_copy_devices"
"""Attrs of a variable of which a strategy has made equal copies: the names and the devices of all
copies, including this one.
"""
COPY = "_copy"
"""The attr of a copy's node that names the first copy's memory: the number of the copy."""
SHARED = "_shared"
"""The attr of a node that uses its memory as the memory of all copies of a variable."""

_KEPT_ATTRS = (RECOMPUTE_HINT, RECOMPUTED, RECOMPUTES)
"""The attrs that `Unit.add_op` copies to a new op from the node `like`."""


def variable_key(node: Node) -> tuple[str, str]:
    """Return the container and the shared name of a VariableV2. Two nodes represent the same
    variable if both values are equal.
    """
    return node.attrs.get("container", ""), node.attrs.get("shared_name") or node.name


def node_error(node: Node, message: str) -> InvalidArgumentError:
    """Return an InvalidArgumentError in TensorFlow's format. The error contains the message, the
    node's name, and the line that defined the node.
    """
    return InvalidArgumentError(node.node_def, None, message + at_node(node))


def at_node(node: Node) -> str:
    """Return the last part of an error message. It names a node and the node's origin."""
    return f"\n\t [[node {node.name} (defined at {node.origin})]]"


def leader_name(entry: str | bytes) -> str:
    """Return the name of the node in an entry of the attr `_class`. An op with this attr is
    colocated with that node.
    """
    name = entry.decode() if isinstance(entry, bytes) else entry
    return name.removeprefix("loc:@")


@dataclass(slots=True, eq=False)
class Storage:
    """A block of bytes that holds one or more tensors. The storage is live from position `first` to
    position `last` of the order.

    Args:
      kind: "arena" (an offset in a device's block), "constant" (the array of a Const), "variable"
        (the session's memory), "cell" (allocated during a run), "object" (a handle) or "aside"
        (memory that is allocated at binding: a side buffer for exchanging loop variables, or pinned
        memory).
      owner: the name of the first tensor in the storage.
      node: the node of a variable or constant.
    """

    kind: str
    device: str
    size: int
    first: int
    last: int
    owner: str
    offset: int = 0
    node: Node | None = None


class Lane(NamedTuple):
    """The label of a lane. A lane consists of nodes on one device. It may run at the same time as
    the lanes of the same phase on other devices.
    """

    phase: int
    device: str


class Home(NamedTuple):
    """The storage of a tensor, and its shape, which is None if it is known only during a run.

    Args:
      start: the position of the tensor's first byte in the storage.
    """

    storage: Storage
    shape: tuple[int, ...] | None
    dtype: DType
    start: int = 0


class Absorbed(NamedTuple):
    """An op that was removed because the op named `by` computes its result.

    Args:
      relation: the words between the two names in the report, such as "part of".
    """

    op_type: str
    origin: Any
    by: str
    relation: str


class Swap(NamedTuple):
    """A tensor of a GPU that is moved to the host between two uses.

    Nodes are identified by name, because a swap is chosen in one unit and applied in another unit,
    which is compiled for the same run.

    Args:
      source, slot: the node that computes the tensor, and the index of its output.
      num_bytes: the size of the tensor.
      uses: the inputs (node name, index) that read the copy, directly or through a view.
      leaves: the node during which the copy to the host ends.
      begins: the node after which the copy back to the GPU begins.
      ends: the node after which the copy back to the GPU must be complete.
      why: the reason for the choice, for the report.
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
    """Return an empty list. This function is the default of `Unit.advise`."""
    return ()


@dataclass
class Unit:
    """The record of one compilation. The keys of its dicts are node ids, tensors (node id, slot) or
    names.

    Attributes:
      flow: the loop and the guard of each node.
      order, depth: the sequence of the nodes, and the depth of each node in it.
      parallel: groups of adjacent nodes that run at the same time.
      lanes: the lanes of nodes that may run in parallel with nodes of other devices.
      homes, storages, arena_sizes: the memory of each tensor, the storages in arenas, and the sizes
        of the arenas.
      modes: for each node, a text that states how its outputs get memory.
      parts: for each node whose outputs are contiguous parts of an input, the index of this input.
      runs_once: whether the plan is valid for a single run.
      programs: the programs of generated kernels by node, if sizes are open.
      reported: for each node, the Sizes that its kernel reports.
      report_of: see `RunRequest`.
      growing: for each loop variable whose sizes differ between iterations, the names and the
        hints of these sizes (`growing_variables.py`).
      open_nodes: the nodes whose attrs differ between plans of the same code.
      recomputation: the degree of recomputation for gradients (`activation_recomputation.py`).
      swaps: the tensors that are swapped to the host (`swap_choice.py`), or None if swapping is not
        requested.
      advise: a function that returns changes, one per line, with which the arena of a device would
        fit into a number of bytes.
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
    lanes: dict[int, Lane] = field(default_factory=dict)
    depth: dict[int, int] = field(default_factory=dict)
    homes: dict[TensorId, Home] = field(default_factory=dict)
    storages: list[Storage] = field(default_factory=list)
    modes: dict[int, str] = field(default_factory=dict)
    parts: dict[int, int] = field(default_factory=dict)
    flow: Flow | None = None
    fused: dict[int, list[tuple[str, str, Any]]] = field(default_factory=dict)
    absorbed: dict[str, Absorbed] = field(default_factory=dict)
    arena_sizes: dict[str, int] = field(default_factory=dict)
    programs: dict[int, Any] | None = None
    runs_once: bool = False
    reports: list[PassReport] = field(default_factory=list)
    report_of: Callable[..., Any] | None = None
    reported: dict[int, Any] = field(default_factory=dict)
    growing: dict[int, dict[str, int]] = field(default_factory=dict)
    open_nodes: Collection[int] = ()
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
        """Add an op that reads the outputs `sources`. The op replaces the node `like`, or is needed
        because of `like`.

        The op has the name of `like`, or the name `like/suffix` if a `suffix` is passed. It has the
        origin and the devices of `like`, unless `device` is passed.
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
        """Add a copy of `node` with the inputs `sources`, named `node/suffix`."""
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
        """Add a constant that replaces the node `like`, or is an input of its replacement. If there
        is a `reason`, the report lists the constant as folded.
        """
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
        """Add an Identity of an output. If the shape of the output is known, the Identity has this
        shape.
        """
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
        """Add a control edge to the node from each of `sources`."""
        for source in sources:
            self.graph.add_control_edge(source, node)

    def remove(self, *nodes: Node) -> None:
        """Remove nodes and their edges."""
        self.graph.remove_nodes(nodes)
        for node in nodes:
            self.shapes.pop(node.id, None)
            self.folded.pop(node.id, None)

    def positions(self) -> dict[int, int]:
        """Return the position of each node in the order, by node id. Nodes that run at the same
        time have the same position.
        """
        positions = {node.id: index for index, node in enumerate(self.order)}
        for group in self.parallel:
            positions.update(dict.fromkeys((node.id for node in group), positions[group[0].id]))
        return positions

    @property
    def host(self) -> str:
        """The name of the session's first device. The memory of this device holds host inputs,
        feeds and fetches.
        """
        return self.target.devices[0].name

    def kernel(self, node: Node) -> Kernel:
        """Return the kernel of a node on its device. Raises InternalError if the device has no
        kernel for the node, which the placer prevents.
        """
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
        """Measure the time of a `with` block, and report the block as a pass. Yield a function that
        sets the summary and lines of the report.
        """
        start = perf_counter()
        outcome: tuple[str, Sequence[str]] = ("", ())

        def set_outcome(summary: str, lines: Sequence[str]) -> None:
            nonlocal outcome
            outcome = summary, lines

        yield set_outcome
        self.reports.append(PassReport(name, *outcome, perf_counter() - start))

    def amend(self, name: str, summary: str, lines: Sequence[str]) -> None:
        """Add lines to the report of the pass `name`. If `summary` is not empty, replace the
        summary of this report.
        """
        for index, known in enumerate(self.reports):
            if known.name == name:
                self.reports[index] = known._replace(
                    summary=summary or known.summary, lines=[*known.lines, *lines]
                )
