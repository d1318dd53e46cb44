"""Examples of functions that are generated from declarations, by op type, for their docstrings.

In an example, `tf` is this package, `np` is NumPy, and `session` is a session of the default graph.
"""

from __future__ import annotations

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
    """Return the end of a docstring with the example of an op type; "" if it has none."""
    if op_type not in EXAMPLES:
        return ""
    expression, value = EXAMPLES[op_type]
    return f"\n\n>>> session.run({expression})\n{value}"
