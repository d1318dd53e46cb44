"""Side by side: large independent matrix products are moved next to each other in the order, so
that they can run at the same time.

  order      a@b  relu  Recv  c@d  add      of two devices, or of one
  together   Recv  [a@b  c@d]  relu  add    one step, which has a thread for each product

NumPy computes a product without holding Python's lock, so two products on two processors take the
time of one. The nodes between two products are moved before both products or, if they depend on a
product, after both. Stateful ops and ops that use variables keep their order, so that results do
not depend on the number of processors. All products of a group have one position in the order,
because their inputs and outputs are live at the same time (`Unit.positions`).
`compile/steps/parallel_steps.py` combines each group into one step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from math import prod

from gpugraph.base.dtypes import complex64, complex128, float32, float64
from gpugraph.base.sizes import hint_of_shape
from gpugraph.compile.memory.call_waves import followers
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.config.environment import processor_count
from gpugraph.devices import blas_threads
from gpugraph.graph.nodes.node_and_edge import Edge
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.kernel import reference

HEAVY = 1 << 25
"""The minimum number of multiplications of a product that gets a thread: about a millisecond of
work.
"""

WINDOW = 256
"""The number of nodes after a large product among which other products of its group are
searched.
"""

_TRANSPOSE_FLAGS = {"MatMul": "transpose_a", "BatchMatMul": "adj_x", "BatchMatMulV2": "adj_x"}
_BY_BLAS = (float32, float64, complex64, complex128)
_NO_STATE = (NodeClass.ARG, NodeClass.RETVAL, NodeClass.SEND, NodeClass.RECV)
_NO_KERNEL = (NodeClass.ARG, NodeClass.SEND, NodeClass.RECV, NodeClass.CONSTANT)


def bring_together(unit: Unit) -> list[str]:
    """Change `unit.order`, set `unit.parallel` to the groups of products, and return report lines
    about the groups.
    """
    if unit.flow is not None:
        return []
    devices = {device.name for device in unit.target.devices if not device.has_kernels}
    heavy = {node.id: work for node in unit.order if (work := _work(unit, node, devices))}
    if len(heavy) < 2:
        return []
    lanes, reason = parallel_lanes(unit)
    if lanes < 2:
        return [f"{len(heavy)} heavy products run one after the other: {reason}"]
    _gather_all(unit, heavy, 2 * lanes)
    if not unit.parallel:
        return [f"{len(heavy)} heavy products run one after the other: all depend on others"]
    return [
        f"at the same time: {', '.join(node.name for node in group)}, "
        f"{sum(heavy[node.id] for node in group) / 1e9:.2f} billion multiplications: {reason}"
        for group in unit.parallel
    ]


def parallel_lanes(unit: Unit) -> tuple[int, str]:
    """Return the number of matrix products that may run at the same time, and the reason as
    text.
    """
    wanted = unit.target.config.inter_op_parallelism_threads
    if wanted < 0 or wanted == 1:
        return 1, f"inter_op_parallelism_threads is {wanted}"
    processors, threads = processor_count(), blas_threads()
    lanes = max(1, processors // threads)
    reason = f"each takes {threads} of {processors} processors"
    if 0 < wanted < lanes:
        return wanted, f"{reason}, and inter_op_parallelism_threads is {wanted}"
    return lanes, reason


def _work(unit: Unit, node: Node, devices: Collection[str]) -> int:
    """Return the number of multiplications of a large product that NumPy's BLAS computes. Return 0
    for small products and all other nodes.

    Args:
      devices: the names of the devices that have no native GPU kernels.
    """
    flag = _TRANSPOSE_FLAGS.get(node.type)
    if flag is None or node.assigned_device not in devices or node.id in unit.failures:
        return 0
    edges = node.input_edges()
    if node.output_types[0] not in _BY_BLAS:
        return 0
    tensors = [(node, 0), *((edge.src, edge.src_output) for edge in edges)]
    shapes = [unit.shapes[source.id][slot].sizes for source, slot in tensors]
    if any(sizes is None or None in sizes for sizes in shapes):
        return 0
    result, left = [hint_of_shape(sizes) for sizes in shapes[:2]]  # type: ignore[arg-type]
    work = prod([*result, left[-2 if node.attrs[flag] else -1]])
    return 0 if work < HEAVY or any(_is_late(unit, edge) for edge in edges) else work


def _is_late(unit: Unit, edge: Edge) -> bool:
    """Return whether a tensor is a variable itself, comes from a Merge, or has a size that becomes
    known only during the run.
    """
    source = edge.src
    if source.output_types[edge.src_output].is_ref_dtype or source.node_class is NodeClass.MERGE:
        return True
    if source.node_class in _NO_KERNEL:
        return any(_is_late(unit, before) for before in source.input_edges())
    if source.node_class is NodeClass.IDENTITY:
        before = source.input_edge(0)
        is_read = before.src.output_types[before.src_output].is_ref_dtype
        return not is_read and _is_late(unit, before)
    return reference(unit.kernel(source)).dynamic


def _gather_all(unit: Unit, heavy: Collection[int], max_size: int) -> None:
    """Form groups of at most `max_size` large products, and move the products of each group next to
    each other.
    """
    after, order = followers(unit), unit.order
    received = {recv.id: send for send, recv in unit.send_recv_pairs}
    fixed = {node.id for node in order if _keeps_order(received.get(node.id, node))}
    index = 0
    while index < len(order):
        if order[index].id in heavy:
            gathered = _Gathered(order[index], after, fixed, max_size)
            window = order[index + 1 : index + 1 + WINDOW]
            for node in window:
                if not gathered.take(node, node.id in heavy):
                    break
            if len(gathered.group) > 1:
                before, behind = gathered.settled
                moved = [*before, *gathered.group, *behind]
                order[index : index + len(moved)] = moved
                unit.parallel.append(gathered.group)
                index += len(before) + len(gathered.group) - 1
        index += 1


class _Gathered:
    """A group of products. Each node between two products of the group is moved before or after the
    group.
    """

    def __init__(
        self,
        first: Node,
        after: Callable[[Node], Iterable[Node]],
        fixed: Collection[int],
        max_size: int,
    ) -> None:
        self.group = [first]
        self.settled: tuple[list[Node], list[Node]] = [], []  # as of the last member
        self._after = after
        self._fixed = fixed
        self._max_size = max_size
        self._before: list[Node] = []
        self._behind: list[Node] = []
        self._needing = {node.id for node in after(first)}
        self._behind_is_fixed = False

    def take(self, node: Node, is_heavy: bool) -> bool:
        """Add the next node of the order to the group, or to the nodes before or after the group.
        Return whether the group may still grow.
        """
        needs_group = node.id in self._needing
        if needs_group:
            self._behind.append(node)
            self._behind_is_fixed = self._behind_is_fixed or node.id in self._fixed
        elif is_heavy:
            self.group.append(node)
            self.settled = list(self._before), list(self._behind)
        elif self._behind_is_fixed and node.id in self._fixed:
            return False
        else:
            self._before.append(node)
        if needs_group or is_heavy:
            self._needing.update(follower.id for follower in self._after(node))
        return len(self.group) < self._max_size


def _keeps_order(node: Node) -> bool:
    """Return whether a node must stay in order with nodes of the same kind, because it has a state
    or uses a variable. For a Recv, return the result for its Send.
    """
    if node.node_class is NodeClass.VARIABLE:
        return False
    return (node.op_def.is_stateful and node.node_class not in _NO_STATE) or any(
        not edge.is_control and edge.src.output_types[edge.src_output].is_ref_dtype
        for edge in node._in
    )
