"""gpugraph: TensorFlow 1's graph runtime as a small package.

    import gpugraph as tf

    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.reduce_sum(x * 2.0)
    with tf.Session() as session:
        print(session.run(y, {x: [[1.0, 2.0, 3.0]]}))

Names, signatures, defaults and error classes are TensorFlow 1.15's. What TensorFlow has not:
`Session.explain` says where each operation runs and why, `Session.memory_stats` what each device
holds, `GPUOptions(virtual_gpus=n)` rehearses a placement on GPUs played by the host.
"""

from gpugraph import (
    contrib,
    devices,
    dtypes,
    errors,
    initializers,
    linalg,
    math,
    memory,
    nest,
    nn,
    random,
    session,
    train,
)
from gpugraph.config import (
    ConfigProto,
    GPUOptions,
    GraphOptions,
    OptimizerOptions,
    RunMetadata,
    RunOptions,
    SessionOptions,
)
from gpugraph.control_flow import Assert, case, cond, switch_case, while_loop
from gpugraph.dtypes import (
    DType,
    as_dtype,
    bool,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    resource,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from gpugraph.errors import OpError
from gpugraph.functional import foldl, foldr, map_fn, scan
from gpugraph.gradients import (
    AggregationMethod,
    NotDifferentiable,
    RegisterGradient,
    UnconnectedGradients,
    custom_gradient,
    gradients,
    hessians,
)
from gpugraph.gradients import NotDifferentiable as NoGradient
from gpugraph.graph.client import Graph
from gpugraph.graph.collections import GraphKeys
from gpugraph.graph.defaults import (
    add_to_collection,
    add_to_collections,
    colocate_with,
    container,
    control_dependencies,
    device,
    get_collection,
    get_collection_ref,
    get_default_graph,
    get_default_session,
    init_scope,
    name_scope,
    reset_default_graph,
)
from gpugraph.graph.device_name import DeviceSpec
from gpugraph.graph.indexed_slices import IndexedSlices
from gpugraph.graph.op_def import NodeDef, OpDef
from gpugraph.graph.operation import Operation
from gpugraph.graph.tensor import Tensor
from gpugraph.kernel import Call, Elementwise, Reduction, Source
from gpugraph.ops.arg_reductions import argmax, argmin
from gpugraph.ops.arithmetic_functions import (
    add,
    add_n,
    div,
    div_no_nan,
    divide,
    floor_div,
    floordiv,
    floormod,
    maximum,
    minimum,
    mod,
    multiply,
    pow,
    squared_difference,
    subtract,
    truediv,
    truncatediv,
    truncatemod,
)
from gpugraph.ops.array_shapes import (
    broadcast_to,
    expand_dims,
    invert_permutation,
    reshape,
    reverse,
    squeeze,
    transpose,
)
from gpugraph.ops.arrays import identity, rank, shape, shape_n, size, stop_gradient
from gpugraph.ops.casting import cast, to_double, to_float, to_int32, to_int64
from gpugraph.ops.clipping import (
    clip_by_average_norm,
    clip_by_global_norm,
    clip_by_norm,
    clip_by_value,
    global_norm,
)
from gpugraph.ops.complex_numbers import conj
from gpugraph.ops.constants import (
    fill,
    ones,
    ones_like,
    placeholder,
    placeholder_with_default,
    zeros,
    zeros_like,
)
from gpugraph.ops.control import group, no_op, tuple
from gpugraph.ops.convert import (
    constant,
    convert_to_tensor,
    register_tensor_conversion_function,
)
from gpugraph.ops.declare import NO_GRADIENT, Attr, raw_ops, register_op
from gpugraph.ops.dynamic_partition import dynamic_partition
from gpugraph.ops.gathering import boolean_mask, gather
from gpugraph.ops.identity_n import identity_n
from gpugraph.ops.initializers import Constant as constant_initializer
from gpugraph.ops.initializers import GlorotNormal as glorot_normal_initializer
from gpugraph.ops.initializers import GlorotUniform as glorot_uniform_initializer
from gpugraph.ops.initializers import Ones as ones_initializer
from gpugraph.ops.initializers import RandomNormal as random_normal_initializer
from gpugraph.ops.initializers import RandomUniform as random_uniform_initializer
from gpugraph.ops.initializers import TruncatedNormal as truncated_normal_initializer
from gpugraph.ops.initializers import VarianceScaling as variance_scaling_initializer
from gpugraph.ops.initializers import Zeros as zeros_initializer
from gpugraph.ops.joining import concat, stack
from gpugraph.ops.kernels import HostOnly, register_kernel
from gpugraph.ops.linalg import matmul, matrix_transpose, tensordot
from gpugraph.ops.logical import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
    where,
)
from gpugraph.ops.padding import pad, tile
from gpugraph.ops.random import random_normal, random_uniform, set_random_seed, truncated_normal
from gpugraph.ops.reduction_functions import (
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from gpugraph.ops.reverse_sequence import reverse_sequence
from gpugraph.ops.scatter_updates import (
    batch_scatter_update,
    scatter_add,
    scatter_div,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_nd_add,
    scatter_nd_sub,
    scatter_nd_update,
    scatter_sub,
    scatter_update,
)
from gpugraph.ops.scattering import gather_nd, scatter_nd, unsorted_segment_sum
from gpugraph.ops.script import numpy_function, py_func
from gpugraph.ops.selection import dynamic_stitch, lin_space, linspace, one_hot, unique
from gpugraph.ops.sequences import cumprod, cumsum, range
from gpugraph.ops.slicing import newaxis, slice, strided_slice
from gpugraph.ops.splitting import split, unstack
from gpugraph.ops.state import assign, assign_add, assign_sub
from gpugraph.ops.tensor_array import TensorArray
from gpugraph.ops.unary_functions import (
    abs,
    ceil,
    cos,
    erf,
    exp,
    expm1,
    floor,
    is_finite,
    is_inf,
    is_nan,
    log,
    log1p,
    negative,
    reciprocal,
    rint,
    round,
    rsqrt,
    sigmoid,
    sign,
    sin,
    sqrt,
    square,
    tan,
    tanh,
)
from gpugraph.session import InteractiveSession, Session
from gpugraph.shapes import Dimension, TensorShape
from gpugraph.template import make_template
from gpugraph.variable_scope import (
    AUTO_REUSE,
    VariableScope,
    create_partitioned_variables,
    explain_variables,
    fixed_size_partitioner,
    get_local_variable,
    get_variable,
    get_variable_scope,
    min_max_variable_partitioner,
    no_regularizer,
    variable_axis_size_partitioner,
    variable_op_scope,
    variable_scope,
)
from gpugraph.variables import (
    Variable,
    VariableAggregation,
    VariableSynchronization,
    assert_variables_initialized,
    disable_resource_variables,
    enable_resource_variables,
    global_variables,
    global_variables_initializer,
    is_variable_initialized,
    local_variables,
    local_variables_initializer,
    model_variables,
    moving_average_variables,
    report_uninitialized_variables,
    resource_variables_enabled,
    trainable_variables,
    variable_creator_scope,
    variables_initializer,
)
from gpugraph.variables import global_variables as all_variables
from gpugraph.variables import global_variables_initializer as initialize_all_variables
from gpugraph.variables import local_variables_initializer as initialize_local_variables
from gpugraph.variables import variables_initializer as initialize_variables

__version__ = "0.1.0"

# fmt: off
__all__ = [
    "AUTO_REUSE", "AggregationMethod", "Assert", "Attr", "Call", "ConfigProto", "DType",
    "DeviceSpec", "Dimension", "Elementwise", "GPUOptions", "Graph", "GraphKeys", "GraphOptions",
    "HostOnly", "IndexedSlices", "InteractiveSession", "NO_GRADIENT", "NoGradient", "NodeDef",
    "NotDifferentiable", "OpDef", "OpError", "Operation", "OptimizerOptions", "Reduction",
    "RegisterGradient", "RunMetadata", "RunOptions", "Session", "SessionOptions", "Source",
    "Tensor", "TensorArray", "TensorShape", "UnconnectedGradients", "Variable",
    "VariableAggregation", "VariableScope", "VariableSynchronization", "__version__", "abs", "add",
    "add_n", "add_to_collection", "add_to_collections", "all_variables", "argmax", "argmin",
    "as_dtype", "assert_variables_initialized", "assign", "assign_add", "assign_sub",
    "batch_scatter_update", "bool", "boolean_mask", "broadcast_to", "case", "cast", "ceil",
    "clip_by_average_norm", "clip_by_global_norm", "clip_by_norm", "clip_by_value", "colocate_with",
    "complex128", "complex64", "concat", "cond", "conj", "constant", "constant_initializer",
    "container", "contrib", "control_dependencies", "convert_to_tensor", "cos",
    "create_partitioned_variables", "cumprod", "cumsum", "custom_gradient", "device", "devices",
    "disable_resource_variables", "div", "div_no_nan", "divide", "double", "dtypes",
    "dynamic_partition", "dynamic_stitch", "enable_resource_variables", "equal", "erf", "errors",
    "exp", "expand_dims", "explain_variables", "expm1", "fill",
    "fixed_size_partitioner", "float16", "float32", "float64", "floor", "floor_div", "floordiv",
    "floormod", "foldl", "foldr", "gather", "gather_nd", "get_collection", "get_collection_ref",
    "get_default_graph", "get_default_session", "get_local_variable", "get_variable",
    "get_variable_scope", "global_norm", "global_variables", "global_variables_initializer",
    "glorot_normal_initializer", "glorot_uniform_initializer", "gradients", "greater",
    "greater_equal", "group", "half", "hessians", "identity", "identity_n", "init_scope",
    "initialize_all_variables", "initialize_local_variables", "initialize_variables",
    "initializers", "int16", "int32", "int64", "int8", "invert_permutation", "is_finite", "is_inf",
    "is_nan", "is_variable_initialized", "less", "less_equal", "lin_space", "linalg", "linspace",
    "local_variables", "local_variables_initializer", "log", "log1p", "logical_and", "logical_not",
    "logical_or", "logical_xor", "make_template", "map_fn", "math", "matmul", "matrix_transpose",
    "maximum", "memory", "min_max_variable_partitioner", "minimum", "mod", "model_variables",
    "moving_average_variables", "multiply", "name_scope", "negative", "nest", "newaxis", "nn",
    "no_op", "no_regularizer", "not_equal", "numpy_function", "one_hot", "ones", "ones_initializer",
    "ones_like", "pad", "placeholder", "placeholder_with_default", "pow", "py_func", "random",
    "random_normal", "random_normal_initializer", "random_uniform", "random_uniform_initializer",
    "range", "rank", "raw_ops", "reciprocal", "reduce_all", "reduce_any", "reduce_logsumexp",
    "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum", "register_kernel",
    "register_op", "register_tensor_conversion_function", "report_uninitialized_variables",
    "reset_default_graph", "reshape", "resource", "resource_variables_enabled", "reverse",
    "reverse_sequence", "rint", "round", "rsqrt", "scan", "scatter_add", "scatter_div",
    "scatter_max", "scatter_min", "scatter_mul", "scatter_nd", "scatter_nd_add", "scatter_nd_sub",
    "scatter_nd_update", "scatter_sub",
    "scatter_update", "session", "set_random_seed", "shape", "shape_n", "sigmoid", "sign", "sin",
    "size", "slice", "split", "sqrt", "square", "squared_difference", "squeeze", "stack",
    "stop_gradient", "strided_slice", "string", "subtract", "switch_case", "tan", "tanh",
    "tensordot", "tile", "to_double", "to_float", "to_int32", "to_int64", "train",
    "trainable_variables", "transpose", "truediv", "truncated_normal",
    "truncated_normal_initializer", "truncatediv", "truncatemod", "tuple", "uint16", "uint32",
    "uint64", "uint8", "unique", "unsorted_segment_sum", "unstack",
    "variable_axis_size_partitioner", "variable_creator_scope", "variable_op_scope",
    "variable_scope", "variables_initializer", "variance_scaling_initializer", "where",
    "while_loop", "zeros", "zeros_initializer", "zeros_like",
]
# fmt: on
