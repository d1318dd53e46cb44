"""Signatures and docstrings of the functions of ops, for `inspect.signature` and `help`."""

from __future__ import annotations

import inspect
from inspect import Parameter, Signature
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.graph.op_def import ArgDef, AttrDef, OpDef

_MAX_TYPES = 20

_RENAMED = """
All Any EuclideanNorm Max Mean Min Prod Sum: reduction_indices=axis
ExpandDims: dim=axis
Select: t=x e=y
Split SplitV: split_dim=axis
Squeeze: squeeze_dims=axis
Where: input=condition
"""
"""For op types, the arguments that have other names in TensorFlow's function.

An entry is `name in the op's signature=name in TensorFlow's function`.
"""

_NAMES = {
    op_type: dict(pair.split("=") for pair in pairs.split())
    for op_types, _, pairs in (line.partition(": ") for line in _RENAMED.strip().splitlines())
    for op_type in op_types.split()
}


def argument_names(op_def: OpDef) -> dict[str, str]:
    """Return a dict from the name of an input or attr to the name of its parameter in the Python
    function. It contains only inputs and attrs whose parameter has a different name.
    """
    known = {*(arg.name for arg in op_def.inputs), *op_def.attrs}
    names = _NAMES.get(op_def.name, {})
    return {name: argument for name, argument in names.items() if name in known}


def derived_attrs(op_def: OpDef) -> set[str]:
    """Return the names of the attrs that the inputs determine, so that callers do not pass them."""
    return {
        key
        for arg in op_def.inputs
        for key in (arg.type_attr, arg.number_attr, arg.type_list_attr)
        if key
    }


def attr_names(op_def: OpDef) -> list[str]:
    """Return the names of the attrs that a caller can pass. As in TensorFlow, attrs without a
    default come first.
    """
    derived = derived_attrs(op_def)
    attrs = [attr for key, attr in op_def.attrs.items() if key not in derived]
    return [attr.name for attr in sorted(attrs, key=lambda attr: attr.has_default)]


def signature_of(op_def: OpDef) -> Signature:
    """Return the signature of the op's function. Its parameters are the inputs, the attrs and
    `name`, in this order.
    """
    plain, names = Parameter.POSITIONAL_OR_KEYWORD, argument_names(op_def)
    inputs = [Parameter(names.get(arg.name, arg.name), plain) for arg in op_def.inputs]
    attrs = [
        Parameter(names.get(key, key), plain, default=_default(op_def.attrs[key]))
        for key in attr_names(op_def)
    ]
    return Signature([*inputs, *attrs, Parameter("name", Parameter.KEYWORD_ONLY, default=None)])


def _default(attr: AttrDef) -> Any:
    return attr.default if attr.has_default else Parameter.empty


def doc_of(op_def: OpDef) -> str:
    """Return the docstring of the op's function.

    The docstring shows how to call the function, a summary, the arguments with their types, and the
    results.
    """
    types = {arg.name: _input_type(arg, op_def) for arg in op_def.inputs}
    types |= {key: _attr_type(op_def.attrs[key]) for key in attr_names(op_def)}
    names = argument_names(op_def)
    arguments = [f"  {names.get(name, name)}: {text}" for name, text in types.items()]
    outputs = [f"  {arg.name}: {_input_type(arg, op_def)}" for arg in op_def.outputs]
    summary = op_def.summary
    if op_def.deprecation is not None:
        version, words = op_def.deprecation
        summary += f" Removed from graphs of version {version} on. {words}"
    lines = [
        f"{op_def.name}{signature_of(op_def)}",
        "",
        summary,
        "",
        "Args:",
        *arguments,
        "  name: a name for the operation.",
        "",
        "Returns:",
        *(outputs or ["  the operation."]),
    ]
    return "\n".join(lines)


def _input_type(arg: ArgDef, op_def: OpDef) -> str:
    if arg.type_list_attr:
        return "a list of tensors, each with its own dtype."
    kind = (
        "a list of tensors" if arg.number_attr else "a mutable tensor" if arg.is_ref else "a tensor"
    )
    if arg.type is not None:
        return f"{kind} of dtype {arg.type.name}."
    allowed = op_def.attrs[arg.type_attr].allowed
    if not allowed or len(allowed) > _MAX_TYPES:
        return f"{kind} of dtype {arg.type_attr}."
    return f"{kind} of dtype {arg.type_attr}: {', '.join(dtype.name for dtype in allowed)}."


def _attr_type(attr: AttrDef) -> str:
    kind = {"type": "a dtype", "shape": "a shape"}.get(attr.kind, f"{attr.kind}")
    values = [value.name if isinstance(value, DType) else repr(value) for value in attr.allowed]
    among = f", one of {', '.join(values)}" if values and len(values) <= _MAX_TYPES else ""
    default = attr.default.name if isinstance(attr.default, DType) else repr(attr.default)
    return f"{kind}{among}{f', by default {default}' if attr.has_default else ''}."


class FunctionDoc:
    """A descriptor for `__doc__`. On an instance, the attribute is the docstring of the op. On the
    class, it is `class_doc`.
    """

    def __init__(self, class_doc: str) -> None:
        self._class_doc = inspect.cleandoc(class_doc)

    def __get__(self, instance: Any, owner: type | None = None) -> str:
        return self._class_doc if instance is None else doc_of(instance.op_def)


EXAMPLES = {
    "Sum": ("tf.reduce_sum([[1, 2], [3, 4]], axis=0)", "array([4, 6], dtype=int32)"),
    "Mean": ("tf.reduce_mean([[1.0, 2.0], [3.0, 4.0]])", "np.float32(2.5)"),
    "Max": ("tf.reduce_max([[1, 5], [3, 4]], axis=1)", "array([5, 4], dtype=int32)"),
    "Min": ("tf.reduce_min([[1, 5], [3, 4]], axis=1)", "array([1, 3], dtype=int32)"),
    "Prod": ("tf.reduce_prod([2, 3, 4])", "np.int32(24)"),
    "All": ("tf.reduce_all([True, False])", "np.False_"),
    "Any": ("tf.reduce_any([True, False])", "np.True_"),
    "ArgMax": ("tf.argmax([[1, 5], [3, 4]], axis=1)", "array([1, 1])"),
    "ArgMin": ("tf.argmin([[1, 5], [3, 4]], axis=1)", "array([0, 0])"),
    "Square": ("tf.square([1.0, 2.0])", "array([1., 4.], dtype=float32)"),
    "Sqrt": ("tf.sqrt([4.0, 9.0])", "array([2., 3.], dtype=float32)"),
    "Rsqrt": ("tf.rsqrt([4.0, 16.0])", "array([0.5 , 0.25], dtype=float32)"),
    "Maximum": ("tf.maximum([1, 5], [3, 2])", "array([3, 5], dtype=int32)"),
    "Minimum": ("tf.minimum([1, 5], [3, 2])", "array([1, 2], dtype=int32)"),
    "Log": ("tf.log([1.0, 0.0])", "array([  0., -inf], dtype=float32)"),
    "Log1p": ("tf.log1p([0.0])", "array([0.], dtype=float32)"),
    "Exp": ("tf.exp([0.0])", "array([1.], dtype=float32)"),
    "Mul": ("tf.multiply([1, 2], [3, 4])", "array([3, 8], dtype=int32)"),
    "Sub": ("tf.subtract([5, 6], [1, 2])", "array([4, 4], dtype=int32)"),
    "Add": ("tf.add([1, 2], 10)", "array([11, 12], dtype=int32)"),
    "Pow": ("tf.pow([2, 3], [3, 2])", "array([8, 9], dtype=int32)"),
    "FloorMod": ("tf.mod([5, -5], 3)", "array([2, 1], dtype=int32)"),
    "Equal": ("tf.equal([1, 2], [1, 3])", "array([ True, False])"),
    "NotEqual": ("tf.not_equal([1, 2], [1, 3])", "array([False,  True])"),
    "Greater": ("tf.greater([1, 2], [0, 3])", "array([ True, False])"),
    "GreaterEqual": ("tf.greater_equal([1, 2], [1, 3])", "array([ True, False])"),
    "Less": ("tf.less([1, 2], [0, 3])", "array([False,  True])"),
    "LessEqual": ("tf.less_equal([1, 2], [1, 1])", "array([ True, False])"),
    "LogicalAnd": ("tf.logical_and([True, False], [True, True])", "array([ True, False])"),
    "LogicalOr": ("tf.logical_or([True, False], [False, False])", "array([ True, False])"),
    "LogicalNot": ("tf.logical_not([True, False])", "array([False,  True])"),
    "Identity": ("tf.identity([1, 2])", "array([1, 2], dtype=int32)"),
    "StopGradient": ("tf.stop_gradient([1, 2])", "array([1, 2], dtype=int32)"),
    "Softplus": ("tf.nn.softplus([0.0])", "array([0.6931472], dtype=float32)"),
    "Relu": ("tf.nn.relu([-1.0, 2.0])", "array([0., 2.], dtype=float32)"),
    "Relu6": ("tf.nn.relu6([-1.0, 3.0, 9.0])", "array([0., 3., 6.], dtype=float32)"),
    "Elu": ("tf.nn.elu([-1.0, 1.0])", "array([-0.6321206,  1.       ], dtype=float32)"),
    "Sigmoid": ("tf.sigmoid([0.0])", "array([0.5], dtype=float32)"),
    "Tanh": ("tf.tanh([0.0])", "array([0.], dtype=float32)"),
    "Sin": ("tf.sin([0.0])", "array([0.], dtype=float32)"),
    "Cos": ("tf.cos([0.0])", "array([1.], dtype=float32)"),
    "Sign": ("tf.sign([-3.0, 0.0, 2.0])", "array([-1.,  0.,  1.], dtype=float32)"),
    "Floor": ("tf.floor([1.5, -1.5])", "array([ 1., -2.], dtype=float32)"),
    "Ceil": ("tf.ceil([1.5, -1.5])", "array([ 2., -1.], dtype=float32)"),
    "IsFinite": ('tf.is_finite([1.0, float("inf")])', "array([ True, False])"),
    "IsNan": ('tf.is_nan([1.0, float("nan")])', "array([False,  True])"),
    "Diag": ("tf.diag([1, 2])", "array([[1, 0],\n       [0, 2]], dtype=int32)"),
    "DiagPart": ("tf.diag_part([[1, 2], [3, 4]])", "array([1, 4], dtype=int32)"),
    "ScatterNd": ("tf.scatter_nd([[1], [3]], [9, 8], [4])", "array([0, 9, 0, 8], dtype=int32)"),
    "LinSpace": ("tf.linspace(0.0, 1.0, 3)", "array([0. , 0.5, 1. ], dtype=float32)"),
    "Cholesky": (
        "tf.cholesky([[4.0, 0.0], [0.0, 9.0]])",
        "array([[2., 0.],\n       [0., 3.]], dtype=float32)",
    ),
    "SegmentSum": ("tf.segment_sum([1, 2, 3], [0, 0, 1])", "array([3, 3], dtype=int32)"),
    "UnsortedSegmentSum": (
        "tf.unsorted_segment_sum([1, 2, 3], [1, 0, 1], 2)",
        "array([2, 4], dtype=int32)",
    ),
}
"""For an op type, an expression and the value that a run returns for it."""


def example_of(op_type: str) -> str:
    """Return the example at the end of an op's docstring as text, or "" if there is no example."""
    if op_type not in EXAMPLES:
        return ""
    expression, value = EXAMPLES[op_type]
    return f"\n\n>>> session.run({expression})\n{value}"
