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

from gpugraph import devices, layers, losses, memory, metrics, session, train
from gpugraph.api import (
    bitwise,
    compat,
    contrib,
    debugging,
    dtypes,
    gfile,
    image,
    initializers,
    io,
    linalg,
    manip,
    math,
    nn,
    quantization,
    random,
    sets,
    signal,
    sparse,
    spectral,
    strings,
    test,
)
from gpugraph.base import errors, nest, version
from gpugraph.base.dtypes import (
    DType,
    as_dtype,
    bfloat16,
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
from gpugraph.base.errors import OpError
from gpugraph.base.shapes import Dimension, TensorShape
from gpugraph.base.version import COMPILER_VERSION, GIT_VERSION, VERSION
from gpugraph.compatibility.tensorflow_versions import (
    control_flow_v2_enabled,
    disable_control_flow_v2,
    disable_eager_execution,
    disable_tensor_equality,
    disable_v2_behavior,
    disable_v2_tensorshape,
    enable_control_flow_v2,
    enable_eager_execution,
    enable_tensor_equality,
    enable_v2_behavior,
    enable_v2_tensorshape,
    executing_eagerly_outside_functions,
    is_symbolic_tensor,
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
from gpugraph.control_flow.map_fold_scan import foldl, foldr, map_fn, scan
from gpugraph.gradients import (
    AggregationMethod,
    NotDifferentiable,
    RegisterGradient,
    UnconnectedGradients,
    custom_gradient,
    grad_pass_through,
    gradients,
    hessians,
    recompute_grad,
)
from gpugraph.gradients import NotDifferentiable as NoGradient
from gpugraph.gradients import NotDifferentiable as no_gradient
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import (
    add_to_collection,
    add_to_collections,
    colocate_with,
    container,
    control_dependencies,
    device,
    executing_eagerly,
    get_collection,
    get_collection_ref,
    get_default_graph,
    get_default_session,
    init_scope,
    name_scope,
    reset_default_graph,
)
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.graph.device_names import DeviceSpec
from gpugraph.graph.op_def import NodeDef, OpDef
from gpugraph.kernel import Call, Elementwise, Reduction, Sized, Source
from gpugraph.ops.framework.constant_value import constant_value as get_static_value
from gpugraph.ops.random.random_ops import get_seed
from gpugraph.platform import app, flags, logging
from gpugraph.session import InteractiveSession, Session
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
from gpugraph.variable_scope.make_template import make_template
from gpugraph.variables import (
    Variable,
    VariableAggregation,
    VariableSynchronization,
    assert_variables_initialized,
    disable_resource_variables,
    enable_resource_variables,
    global_variables,
    global_variables_initializer,
    is_tensor,
    is_variable_initialized,
    local_variables,
    local_variables_initializer,
    model_variables,
    moving_average_variables,
    report_uninitialized_variables,
    resource_variables_enabled,
    tables_initializer,
    trainable_variables,
    variable_creator_scope,
    variables_initializer,
)
from gpugraph.variables import global_variables as all_variables
from gpugraph.variables import global_variables_initializer as initialize_all_variables
from gpugraph.variables import local_variables_initializer as initialize_local_variables
from gpugraph.variables import tables_initializer as initialize_all_tables
from gpugraph.variables import variables_initializer as initialize_variables

__version__ = VERSION
from gpugraph.api import top_level
from gpugraph.api.top_level import *  # noqa: F403

# fmt: off
__all__ = [
    "COMPILER_VERSION", "GIT_VERSION", "TensorSpec", "VERSION", "compat", "control_flow_v2_enabled",
    "disable_control_flow_v2", "disable_eager_execution", "disable_tensor_equality",
    "disable_v2_behavior", "disable_v2_tensorshape", "enable_control_flow_v2",
    "enable_eager_execution", "enable_tensor_equality", "enable_v2_behavior",
    "enable_v2_tensorshape", "executing_eagerly", "executing_eagerly_outside_functions",
    "get_seed", "get_static_value", "gfile", "is_symbolic_tensor", "is_tensor", "test", "version",
    "AUTO_REUSE", "AggregationMethod", "Assert", "Call", "ConfigProto", "DType", "DeviceSpec",
    "Dimension", "Elementwise", "GPUOptions", "Graph", "GraphKeys", "GraphOptions",
    "IndexedSlices", "InteractiveSession", "NoGradient", "NodeDef", "NotDifferentiable", "OpDef",
    "OpError", "Operation", "OptimizerOptions", "Reduction", "RegisterGradient", "RunMetadata",
    "RunOptions", "Session", "SessionOptions", "Sized", "Source", "Tensor", "TensorShape",
    "UnconnectedGradients", "Variable", "VariableAggregation", "VariableScope",
    "VariableSynchronization", "__version__", "add_to_collection", "add_to_collections",
    "all_variables", "app", "as_dtype", "assert_variables_initialized", "bfloat16", "bitwise",
    "bool", "case", "colocate_with", "complex128", "complex64", "cond", "container", "contrib",
    "control_dependencies", "create_partitioned_variables", "custom_gradient", "debugging",
    "device", "devices", "disable_resource_variables", "double", "dtypes",
    "enable_resource_variables", "errors", "explain_variables", "fixed_size_partitioner", "flags",
    "float16", "float32", "float64", "foldl", "foldr", "get_collection", "get_collection_ref",
    "get_default_graph", "get_default_session", "get_local_variable", "get_variable",
    "get_variable_scope", "global_variables", "global_variables_initializer", "grad_pass_through",
    "gradients", "half", "hessians", "image", "init_scope", "initialize_all_tables",
    "initialize_all_variables", "initialize_local_variables", "initialize_variables",
    "initializers", "int16", "int32", "int64", "int8", "io",
    "is_variable_initialized",
    "layers", "linalg", "local_variables", "local_variables_initializer", "logging", "losses",
    "make_template", "manip", "map_fn", "math", "memory", "metrics",
    "min_max_variable_partitioner", "model_variables", "moving_average_variables", "name_scope",
    "nest", "nn", "no_gradient", "no_regularizer", "quantization", "random", "recompute_grad",
    "report_uninitialized_variables", "reset_default_graph", "resource",
    "resource_variables_enabled", "scan", "session", "sets", "signal", "sparse", "spectral",
    "string", "strings", "switch_case", "tables_initializer", "train", "trainable_variables",
    "uint16", "uint32", "uint64", "uint8", "variable_axis_size_partitioner",
    "variable_creator_scope", "variable_op_scope", "variable_scope", "variables_initializer",
    "while_loop",
]
# fmt: on
__all__ += top_level.__all__
