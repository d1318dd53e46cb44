"""FuncGraph: the graph of a function, which may use tensors of the graphs around it.

If an input of a function's operation is a tensor of an outer graph, a tensor of the function
replaces it: a *capture*. The op that calls the function passes the outer tensors (`captured`) after
the arguments. The capture of a tensor is

    a constant, if the tensor is a constant (passes fold it, shape functions see its value)
    a copy of the op that creates a handle of a variable, table or queue, if the tensor is such a
        handle: the copy refers to the same object by its container and name
    a placeholder, for every other tensor

Functions can be nested. The op that calls an inner function takes the captured tensors as inputs,
so the outer function captures them as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpugraph.base.dtypes import DType, resource, variant
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_stacks import TRACED, graph_stack
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.resource_handles import HANDLE_MOVES, returned_handle
from gpugraph.graph.client.tensor import Tensor

_SHARED_COLLECTIONS = (
    GraphKeys.GLOBAL_VARIABLES,
    GraphKeys.LOCAL_VARIABLES,
    GraphKeys.TRAINABLE_VARIABLES,
    GraphKeys.TABLE_INITIALIZERS,
    GraphKeys.RESOURCES,
)
"""The collections that a function shares with the graph around it. It has its own copies of all
other collections.
"""


class FuncGraph(Graph):
    """The graph of a function.

    Attributes:
      inputs: the tensors of the arguments, without captures.
      outputs: the tensors of the results.
      structured_outputs: the results in the structure that the Python function returned.
      captures: a dict from each captured tensor of an outer graph to its tensor in the function.
      captures_by_value: whether the ops of captured tensors are copied into the function, which
        then has no captures.
      controls: the operations that a call runs even if no result needs them.
      resource_uses: for each op that creates a handle (or a key for other effects), whether the
        function only reads the resource.
      python_call: a Python function of arrays that computes the same results as the graph, but
        faster.
      is_pure: whether calls have no effect and depend only on the arguments, or None if this is not
        known yet.
      dataset_plan: the plan for calls of a function that returns a dataset. It is None before the
        first call, and False if the function is called like any other function.
      rows_functions: the functions for stacked elements, by the set of ragged arguments. A value is
        None if there is no such function.
    """

    def __init__(self, name: str, outer_graph: Graph) -> None:
        super().__init__()
        self.name = name
        self.outer_graph = outer_graph
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.captures: dict[Tensor, Tensor] = {}
        self.controls: list[Operation] = []
        self.resource_uses: dict[Any, bool] = {}
        self.structured_outputs: Any = None
        self.captures_by_value = False
        self.rows_functions: dict[tuple[bool, ...], Any] = {}
        self.parts: Any = None
        self.is_pure: bool | None = None
        self.dataset_plan: Any = None
        self.python_call: Callable[..., Any] | None = None
        self._copies: dict[Operation, Operation] = {}  # of captures by value
        self.seed = outer_graph.seed
        self._versions = outer_graph._versions
        self._share_collections()

    def _share_collections(self) -> None:
        outer = self.outer_graph
        for key in list(outer._collections):
            if key in _SHARED_COLLECTIONS or not isinstance(key, str):
                self._collections[key] = outer.get_collection_ref(key)
            elif key not in (GraphKeys.COND_CONTEXT, GraphKeys.WHILE_CONTEXT):
                self._collections[key] = list(outer.get_collection_ref(key))
        for key in _SHARED_COLLECTIONS:
            self._collections[key] = outer.get_collection_ref(key)

    @property
    def building_function(self) -> bool:
        """Always True, because a FuncGraph is the graph of a function."""
        return True

    @property
    def captured(self) -> list[Tensor]:
        """The tensors of outer graphs that the function uses, in the order of their captures."""
        return list(self.captures)

    @property
    def arguments(self) -> list[Tensor]:
        """The tensors to which a call assigns values: the inputs, then the captures."""
        return [*self.inputs, *self.captures.values()]

    @property
    def fed(self) -> list[Tensor]:
        """The arguments that are placeholders. A run of the function feeds these placeholders."""
        return [tensor for tensor in self.arguments if tensor.op.type == "Placeholder"]

    @property
    def has_seeds(self) -> bool:
        """Whether an operation of the function draws random numbers."""
        return any(op._op_def.is_stateful and "seed2" in op._attrs for op in self._ops)

    @contextmanager
    def as_default(self) -> Iterator[FuncGraph]:
        """Make this graph the default graph inside the block. Ops on tensors of outer graphs are
        also added to it.
        """
        TRACED.append(self)
        try:
            with graph_stack.using(self):
                yield self
        finally:
            TRACED.remove(self)

    def add_input(self, dtype: DType, shape: TensorShape, name: str) -> Tensor:
        """Add an argument to the function and return its tensor."""
        tensor = self._placeholder(dtype, shape, name)
        self.inputs.append(tensor)
        return tensor

    def _placeholder(self, dtype: DType, shape: TensorShape, name: str) -> Tensor:
        attrs = {"dtype": dtype.base_dtype, "shape": shape}
        with self._outside_scopes():
            return self.create_op("Placeholder", [], attrs=attrs, name=name)._outputs[0]

    @contextmanager
    def _outside_scopes(self) -> Iterator[None]:
        """Add ops at the function's top level, outside of all name scopes, conditions, loops and
        device scopes.
        """
        with self.name_scope(None), self.control_dependencies(None), self.device(None):
            yield

    # -- captures

    def is_inside(self, graph: Graph) -> bool:
        """Return whether `graph` is one of the outer graphs of this function."""
        outer: Graph | None = self.outer_graph
        while outer is not None and outer is not graph:
            outer = getattr(outer, "outer_graph", None)
        return outer is not None

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Return the function's tensor for a tensor of an outer graph. A tensor of the function
        itself is returned unchanged.

        Raises ValueError if the tensor's graph does not contain this function.
        """
        if tensor.graph is self:
            return tensor
        if not self.is_inside(tensor.graph):
            raise self._foreign(tensor, name or self.name, tensor.op._op_def)
        if self.captures_by_value:
            return self._by_value(tensor.op)._outputs[tensor.value_index]
        inner = self.captures.get(tensor)
        if inner is None:
            inner = self._twin(tensor)
            if inner is None:
                inner = self._placeholder(tensor._dtype, tensor._shape, tensor.op.name)
            self.captures[tensor] = inner
        return inner

    def _captured_inputs(
        self, inputs: Sequence[Tensor], name: str, op_def: Any
    ) -> Sequence[Tensor]:
        for slot, tensor in enumerate(inputs):
            is_ref = slot < len(op_def.inputs) and op_def.inputs[slot].is_ref
            if tensor.graph is not self and is_ref:
                raise ValueError(
                    f"'{name}' (op: '{op_def.name}') needs a reference to the variable "
                    f"'{tensor.op.name}', which is outside of the function '{self.name}': a "
                    "function gets its value only. Make the variable with use_resource=True"
                )
            if tensor.graph is not self and not self.is_inside(tensor.graph):
                raise self._foreign(tensor, name, op_def)
        return [self.capture(tensor) for tensor in inputs]

    def _by_value(self, op: Operation) -> Operation:
        """Return a copy of an operation of an outer graph. The operations that it depends on are
        copied too.
        """
        copy = self._copies.get(op)
        if copy is None:
            makes_dataset = all(tensor._dtype is variant for tensor in op._outputs)
            if op.type in ("Placeholder", "PlaceholderV2"):
                raise ValueError(
                    f"Cannot capture a placeholder (name:{op.name}, type:{op.type}) by value."
                )
            if op._op_def.is_stateful and not makes_dataset:
                raise ValueError(
                    f"Cannot capture a stateful node (name:{op.name}, type:{op.type}) by value."
                )
            inputs = [self._by_value(t.op)._outputs[t.value_index] for t in op._inputs]
            copy = self._copies[op] = self._copied(op, op._attrs, inputs).op
        return copy

    def _twin(self, tensor: Tensor) -> Tensor | None:
        """Return the output of a copied op if the tensor is a constant or a handle. Otherwise
        return None.
        """
        maker = tensor.op
        if maker.type == "Const":
            return self._copied(maker, maker._attrs, ())
        if tensor._dtype is not resource:
            return None
        while maker.type in HANDLE_MOVES or maker.type == "IdentityN":
            tensor = returned_handle(tensor) if maker.type == "IdentityN" else maker._inputs[0]
            maker = tensor.op
        attrs = maker._attrs
        if "shared_name" not in attrs or any(t.op.type != "Const" for t in maker._inputs):
            return None
        inputs = [self._copied(source.op, source.op._attrs, ()) for source in maker._inputs]
        name = attrs["shared_name"] or _own_name(maker)
        return self._copied(maker, {**attrs, "shared_name": name}, inputs)

    def _copied(self, op: Operation, attrs: dict[str, Any], inputs: Sequence[Tensor]) -> Tensor:
        kept = {key: value for key, value in attrs.items() if key != "_class"}
        with self._outside_scopes():
            types = [tensor._dtype for tensor in op._outputs]
            copy = self._make(op._op_def, inputs, types, kept, op.name)
        return copy._outputs[0]

    # -- scopes of outer operations

    def _ops_of(self, control_inputs: Any) -> list[Operation]:
        """Return the control inputs that are operations of this graph. Operations of outer graphs
        are dropped, because they run before a call.
        """
        if not isinstance(control_inputs, (list, tuple)):
            control_inputs = [control_inputs]
        inner = [item for item in control_inputs if not self._is_outer(item)]
        return super()._ops_of(inner)

    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Any:
        """Colocate as `Graph.colocate_with` does. An `op` of an outer graph only clears the outer
        requests.
        """
        if op is not None and self._is_outer(op):
            return super().colocate_with(None, True)
        return super().colocate_with(op, ignore_existing)

    def _is_outer(self, item: Any) -> bool:
        # a variable after a change has the op of the change, in this graph, and an outer handle
        element = getattr(item, "op", getattr(item, "handle", item))
        graph = getattr(element, "graph", None)
        return isinstance(graph, Graph) and graph is not self and self.is_inside(graph)


def _own_name(op: Operation) -> str:
    """Return the name under which a session keeps the resource of an op without a `shared_name`."""
    if op.type == "VarHandleOp" or op._attrs.get("use_node_name_sharing"):
        return op.name
    return f"{op.name}/private"


def outermost(graph: Graph) -> Graph:
    """Return the outermost graph around a function. A graph that is not a function's is returned
    unchanged.
    """
    while isinstance(graph, FuncGraph):
        graph = graph.outer_graph
    return graph
