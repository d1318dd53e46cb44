"""One op on one sample: its kernel by itself, or built into a graph for a session.

Results are the op's outputs; of ops that write variables, those variables afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import gpugraph as tf
from gpugraph.base.dtypes import as_dtype
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.op_inference import output_types
from gpugraph.graph.inference_context import InferContext
from gpugraph.graph.op_def import ArgDef, host_slots
from gpugraph.kernel import Call, reference
from gpugraph.ops.framework.kernel_registry import HostOnly, find_kernel
from gpugraph.ops.framework.op_declaration import DECLARATIONS, OpDecl, raw_ops
from gpugraph.ops.framework.op_evaluation import ArrayContext

from .sampling import Sample

__all__ = [
    "Alone",
    "Built",
    "args_by_slot",
    "gpu_refusal",
    "infer",
    "kernels",
    "make_graph_older",
    "run_together",
]
__all__ += ["same_bits"]


def args_by_slot(decl: OpDecl, sample: Sample) -> list[ArgDef]:
    """Return the argument of each flat input."""
    result = []
    for arg, value in zip(decl.op_def.inputs, sample.inputs, strict=True):
        result += [arg] * (len(value) if isinstance(value, list) else 1)
    return result


def infer(
    op_type: str,
    sample: Sample,
    shapes: list[TensorShape] | None = None,
    values: Callable[[int], Any] | None = None,
) -> list[TensorShape]:
    """Return the inferred shapes of the outputs from given facts of the inputs, by default all."""
    decl = DECLARATIONS[op_type]
    arrays, attrs = sample.flat, sample.all_attrs(decl.op_def)
    context = InferContext(
        [TensorShape.of(array.shape) for array in arrays] if shapes is None else shapes,
        attrs,
        [as_dtype(array.dtype) for array in arrays],
        len(output_types(decl.op_def, attrs)),
        arrays.__getitem__ if values is None else values,
    )
    assert decl.op_def.infer is not None
    return list(decl.op_def.infer(context))


def kernels(op_type: str, attrs: dict[str, Any]) -> Iterator[tuple[str, Call]]:
    """Yield (device type, the NumPy `Call`) of each kernel that a host device may run."""
    for device in ("CPU", "GPU"):
        entry = find_kernel(op_type, device, attrs)
        if entry is not None and not isinstance(entry.kernel, HostOnly):
            yield device, reference(entry.kernel)


def gpu_refusal(op_type: str, sample: Sample) -> str:
    """Return the reason why this runs on no GPU, which the placement error must repeat; empty if it
    runs.
    """
    attrs = sample.all_attrs(DECLARATIONS[op_type].op_def)
    entry = find_kernel(op_type, "GPU", attrs)
    assert entry is not None, f"{op_type} has neither a GPU kernel nor a HostOnly"
    if isinstance(entry.kernel, HostOnly):
        return entry.kernel.reason
    return "strings" if any(dtype is tf.string for dtype in attrs.values()) else ""


_LEFT = object()
"""Initial contents of outputs of strings."""


class _Context(ArrayContext):
    """Of ops on variables, which all have a value."""

    def variable(self, index: int) -> Any:
        class Variable:
            initialized = True
            value = self.inputs[index]

        return Variable


class Alone:
    """A kernel bound to separate arrays: read-only inputs, outputs full of garbage.

    Inputs get their values after binding, as in a plan: a kernel that reads them before is wrong.

    over: the input that output 0 shares memory with, if any (all inputs are writable then).
    """

    def __init__(
        self, op_type: str, sample: Sample, kernel: Call, garbage: int = 0x5B, over: int = -1
    ) -> None:
        self.decl = decl = DECLARATIONS[op_type]
        attrs = sample.all_attrs(decl.op_def)
        self.types = [dtype.base_dtype for dtype in output_types(decl.op_def, attrs)]
        self.inputs = [np.array(array) for array in sample.flat]
        host = host_slots(decl.op_def.inputs, decl.op_def.host_inputs, attrs)
        self.kernel = kernel
        sizes = [] if kernel.dynamic else [tuple(s.as_list()) for s in infer(op_type, sample)]
        self.outputs = [
            self._output(slot, shape, garbage, over) for slot, shape in enumerate(sizes)
        ]
        source = [self._guarded(slot, over) for slot in range(len(self.inputs))]
        passed = [array for slot, array in enumerate(source) if slot not in host]
        context = _Context(op_type, attrs, source, sizes, self.types)
        with np.errstate(all="ignore"):
            for slot, array in enumerate(self.inputs):
                if slot not in host:
                    array.fill(array.dtype.type(1) if array.dtype != object else b"unset")
            self.run = kernel.bind(context, [*passed, *self.outputs])
            for array, value in zip(self.inputs, sample.flat, strict=True):
                np.copyto(array, value)

    def _output(self, slot: int, shape: tuple[int, ...], garbage: int, over: int) -> Any:
        numpy_type = np.dtype(self.types[slot].as_numpy_dtype)
        args = self.decl.op_def.outputs
        if slot < len(args) and args[slot].is_ref:
            return self.inputs[self.decl.memory.view[slot]]
        if over >= 0 and slot == 0:
            return self.inputs[over].view(numpy_type)
        if numpy_type.kind == "O":
            return np.full(shape, _LEFT, object)
        filled = np.empty(shape, numpy_type)
        filled.reshape(-1).view(np.uint8).fill(garbage & 1 if numpy_type.kind == "b" else garbage)
        return filled

    def _guarded(self, slot: int, over: int) -> Any:
        array = self.inputs[slot]
        if over < 0 and slot not in self.decl.memory.writes:
            array = array.view()
            array.setflags(write=False)
        return array

    def __call__(self) -> list[np.ndarray]:
        """Run the kernel and return its results."""
        with np.errstate(all="ignore"):
            returned = self.run()
        if self.decl.memory.writes:
            return [self.inputs[slot] for slot in sorted(self.decl.memory.writes)]
        outputs = [np.asarray(item) for item in returned] if self.kernel.dynamic else self.outputs
        for output in outputs:
            assert not any(item is _LEFT for item in output.flat if output.dtype == object), (
                "a string of the output was not written"
            )
        return outputs


def same_bits(one: Any, other: Any) -> bool:
    """Return whether two arrays are the same in dtype, shape and bits."""
    a, b = np.asarray(one), np.asarray(other)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()


def make_graph_older(producer: int) -> None:
    """Return the default graph the version of an older producer, as an import does."""
    graph_def = tf.GraphDef()
    graph_def.versions.producer = producer
    tf.import_graph_def(graph_def)


class Built:
    """The op in a graph: inputs fed by placeholders, host inputs constants, refs variables.

    opened: the inputs come through ops that leave their sizes ("sizes") or their ranks ("rank")
      open until they run, and the op has no static information of them, host inputs included.
    known: otherwise, whether the placeholders have static shapes.
    """

    def __init__(
        self, op_type: str, sample: Sample, device: str = "", opened: str = "", known: bool = True
    ) -> None:
        self.decl = DECLARATIONS[op_type]
        if self.decl.op_def.deprecation is not None:
            make_graph_older(self.decl.op_def.deprecation[0] - 1)
        self.feeds: dict[Any, Any] = {}
        self.opened, self.known = opened, known
        self.variables: list[Any] = []
        self.assigned: list[Any] = []
        self.inputs: list[Any] = []
        self.device = device
        host = self.decl.op_def.host_inputs
        arguments = []
        for index, (arg, value) in enumerate(
            zip(self.decl.op_def.inputs, sample.inputs, strict=True)
        ):
            make = self._variable if arg.is_ref else self._input
            fixed = index in host and not opened
            output = [
                tf.constant(item) if fixed else make(item)
                for item in (value if isinstance(value, list) else [value])
            ]
            self.inputs += output
            arguments.append(output if isinstance(value, list) else output[0])
        named = {"name": op_type.strip("_")} if op_type.startswith("_") else {}
        with tf.device(device or None):
            output = getattr(raw_ops, op_type)(*arguments, **sample.attrs, **named)
        self.op = output if isinstance(output, tf.Operation) else None
        self.outputs = [] if self.op is not None else tf.nest.flatten(output)

    def _input(self, array: np.ndarray) -> Any:
        dtype = as_dtype(array.dtype)
        if not self.opened:
            x = tf.placeholder(dtype, array.shape if self.known else None)
            self.feeds[x] = array
            return x
        flat = tf.placeholder(dtype, [None])
        shape = tf.placeholder(tf.int32, [None])
        self.feeds |= {flat: array.reshape(-1), shape: np.array(array.shape, np.int32)}
        if self.opened == "rank":
            rank = tf.placeholder(tf.int32, [1])
            self.feeds[rank] = np.array([array.ndim], np.int32)
            shape = tf.slice(shape, [0], rank)
        return tf.reshape(flat, shape)

    def _variable(self, array: np.ndarray) -> Any:
        dtype = as_dtype(array.dtype)
        start = tf.placeholder(dtype, array.shape)
        self.feeds[start] = array
        with tf.device(self.device or None):
            variable = raw_ops.VariableV2(shape=array.shape, dtype=dtype)
            self.assigned.append(raw_ops.Assign(variable, start))
        self.variables.append(variable)
        return variable

    def __call__(self, session: tf.Session) -> list[np.ndarray]:
        """Run it and return its results."""
        return run_together(session, [self])[0]


def run_together(session: tf.Session, builts: Sequence[Built]) -> list[list[np.ndarray]]:
    """Run one op on several samples as one plan and return the results of each."""
    feeds = {key: value for built in builts for key, value in built.feeds.items()}
    assigned = [op for built in builts for op in built.assigned]
    if assigned:
        session.run(assigned, feeds)
    fetched = session.run(
        [[*built.outputs, *([built.op] if built.op else [])] for built in builts], feeds
    )
    if builts[0].decl.memory.writes:
        writes = sorted(builts[0].decl.memory.writes)
        fetched = session.run([[built.inputs[slot] for slot in writes] for built in builts])
    return [[_as_array(item) for item in items if item is not None] for items in fetched]


def _as_array(fetched: Any) -> np.ndarray:
    """Return a fetched value as an array; a scalar string is fetched as bytes."""
    return np.array(fetched, object) if isinstance(fetched, bytes) else np.asarray(fetched)
