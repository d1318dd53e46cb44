"""Ops that compute nothing: NoOp, and five ops that compiler passes add to a runtime graph.

`_Arg` is a fed tensor, and `_Retval` is a fetched tensor. `_Send` and `_Recv` are the two ends of a
transfer between devices. `_LoopEnd` ends an iteration of a loop. These five ops have no kernels,
because the bind pass handles them.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base import nest
from gpugraph.base.dtypes import ALL
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferFunction
from gpugraph.kernel import Call
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import from_attr, no_outputs
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def _compute_nothing(*_: Any) -> None:
    """Compute nothing."""


EMPTY_KERNELS = numpy_kernels(Call(_compute_nothing))
"""The kernels in the declaration of an op that computes nothing."""
_DECLARED = {**EMPTY_KERNELS, "grad": NO_GRADIENT, "stateful": True}


def _declare(name: str, infer: InferFunction, doc: str, **declared: Any) -> None:
    """Declare a stateful op without a gradient, whose kernels do nothing.

    Args:
      declared: additional keyword arguments of `op`.
    """
    op(name, infer=infer, doc=doc, **{**_DECLARED, **declared})


_declare(
    "NoOp",
    no_outputs,
    "Does nothing, but may have control inputs and be a control input.",
    stateful=False,
)
_declare(
    "_Arg",
    from_attr("shape"),
    "A fed tensor.",
    outputs="output: T",
    attrs={"T": ALL, "index": Attr("int"), "shape": Attr("shape"), "tensor": Attr("string")},
)
_declare(
    "_Retval",
    no_outputs,
    "A fetched tensor.",
    inputs="input: T",
    attrs={"T": ALL, "index": Attr("int")},
)
_TRANSFER = {
    "T": ALL,
    "tensor_name": Attr("string"),
    "send_device": Attr("string"),
    "recv_device": Attr("string"),
}
_declare(
    "_Send",
    no_outputs,
    "The end of a transfer on the device that has computed the tensor.",
    inputs="tensor: T",
    attrs=_TRANSFER,
)
_declare(
    "_Recv",
    from_attr("shape"),
    "The end of a transfer on the device that uses the tensor.",
    outputs="tensor: T",
    attrs={**_TRANSFER, "shape": Attr("shape")},
)
_declare(
    "_LoopEnd",
    no_outputs,
    "The end of a loop's iteration, in the order of a plan's ops.",
    attrs={"frame_name": Attr("string")},
)


def no_op(name: str | None = None) -> Operation:
    """Add an operation that computes nothing. It is used as a control input or to group control
    inputs.

    >>> session.run(tf.no_op())
    """
    return raw_ops.NoOp(name=name)


def group(*inputs: Any, name: str | None = None) -> Operation:
    """Add an operation that runs after all of `inputs`, which are operations, tensors, or nested
    structures of operations and tensors.

    If the inputs are on several devices, one NoOp on each device joins the inputs of that device.
    The returned operation is then on the device of the enclosing `tf.device`. Raises TypeError if
    an input is not part of a graph.

    >>> v = tf.Variable(1.0)
    >>> w = tf.Variable(2.0)
    >>> session.run(tf.group(v.initializer, w.initializer))
    >>> session.run(v + w)
    np.float32(3.0)
    """
    graph = get_default_graph()
    parts_of_graph = nest.flatten(inputs, expand_composites=True)
    for part in parts_of_graph:
        if not hasattr(part, "device"):
            raise TypeError(
                f"Expected tf.group() expected Tensor arguments not '{part}' with type "
                f"'{type(part)}'"
            )
    ops = graph._ops_of(parts_of_graph)
    by_device: dict[str, list[Operation]] = {}
    for operation in ops:
        by_device.setdefault(operation.device, []).append(operation)
    if len(by_device) <= 1:
        return _after(graph, ops, next(iter(by_device), ""), name or "group_deps")
    with graph.name_scope(name or "group_deps") as scope:
        parts = [_after(graph, by_device[device], device, None) for device in sorted(by_device)]
        return _after(graph, parts, "", scope)


def _after(graph: Graph, ops: list[Operation], device: str | None, name: str | None) -> Operation:
    with graph.device(device), graph.control_dependencies(ops):
        return no_op(name=name)


def tuple(tensors: Any, name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """Return copies of the tensors that are computed after all of them and `control_inputs`.

    None and IndexedSlices in `tensors` stay None and IndexedSlices. Raises ValueError if there is
    no tensor.

    >>> session.run(tf.tuple([tf.constant(1), tf.constant(2)]))
    [np.int32(1), np.int32(2)]
    """
    values = [
        value if value is None or isinstance(value, IndexedSlices) else convert_to_tensor(value)
        for value in tensors
    ]
    operations = [value.op for value in values if value is not None]
    if not operations:
        raise ValueError(f"Must have at least one Tensor: {tensors}")
    graph: Graph = operations[0].graph
    with graph.name_scope(name or "tuple"):
        gate = group(*operations, *(control_inputs or ()))
        return [None if value is None else _gated(graph, gate, value) for value in values]


def _gated(graph: Graph, gate: Operation, tensor: Any) -> Any:
    if isinstance(tensor, IndexedSlices):
        values = _gated(graph, gate, tensor.values)
        return IndexedSlices(values, tensor.indices, tensor.dense_shape)
    with graph.control_dependencies([gate]), graph.colocate_with(tensor.op):
        return raw_ops.Identity(tensor, name="control_dependency")


def with_dependencies(dependencies: Any, output_tensor: Any, name: str | None = None) -> Tensor:
    """Return a copy of `output_tensor` that is computed after `dependencies`, a list of operations
    and tensors.
    """
    tensor = convert_to_tensor(output_tensor)
    graph = tensor.graph
    with graph.name_scope(name or "control_dependency") as scope:
        with graph.colocate_with(tensor.op), graph.control_dependencies(dependencies):
            return raw_ops.Identity(tensor, name=scope)
