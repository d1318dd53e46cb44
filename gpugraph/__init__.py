"""gpugraph: TensorFlow 1's graph runtime as a small package.

    import gpugraph as tf

    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.reduce_sum(x * 2.0)
    with tf.Session() as session:
        print(session.run(y, {x: [[1.0, 2.0, 3.0]]}))

Names, signatures, defaults and error classes are TensorFlow 1.15's. gpugraph adds three features.
`Session.explain` reports the device of each operation and the reason for it. `Session.memory_stats`
reports the memory in use on each device. `GPUOptions(virtual_gpus=n)` emulates `n` GPUs in host
memory, so that a placement can be tested without GPUs.
"""

from typing import TYPE_CHECKING

from gpugraph.base.deferred_names import deferred_names
from gpugraph.base.version import (
    COMPILER_VERSION as COMPILER_VERSION,
    CXX11_ABI_FLAG as CXX11_ABI_FLAG,
    GIT_VERSION as GIT_VERSION,
    GRAPH_DEF_VERSION as GRAPH_DEF_VERSION,
    GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER,
    GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER,
    MONOLITHIC_BUILD as MONOLITHIC_BUILD,
    VERSION as VERSION,
)
from gpugraph.tensorflow_import.missing_attributes import missing_attribute

if TYPE_CHECKING:
    from gpugraph import config as config, devices as devices, memory as memory, session as session
    from gpugraph.api import (
        autograph as autograph,
        bitwise as bitwise,
        compat as compat,
        contrib as contrib,
        data as data,
        debugging as debugging,
        dtypes as dtypes,
        gfile as gfile,
        graph_util as graph_util,
        image as image,
        initializers as initializers,
        io as io,
        linalg as linalg,
        manip as manip,
        math as math,
        nn as nn,
        quantization as quantization,
        random as random,
        saved_model as saved_model,
        sets as sets,
        signal as signal,
        sparse as sparse,
        spectral as spectral,
        strings as strings,
        test as test,
    )
    from gpugraph.api.shared import audio as audio, python_io as python_io, queue as queue
    from gpugraph.base import errors as errors, nest as nest, shapes as shapes, version as version
    from gpugraph.base.dtypes import (
        QUANTIZED_DTYPES as QUANTIZED_DTYPES,
        DType as DType,
        as_dtype as as_dtype,
        bfloat16 as bfloat16,
        bool as bool,
        complex64 as complex64,
        complex128 as complex128,
        double as double,
        float16 as float16,
        float32 as float32,
        float64 as float64,
        half as half,
        int8 as int8,
        int16 as int16,
        int32 as int32,
        int64 as int64,
        qint8 as qint8,
        qint16 as qint16,
        qint32 as qint32,
        quint8 as quint8,
        quint16 as quint16,
        resource as resource,
        string as string,
        uint8 as uint8,
        uint16 as uint16,
        uint32 as uint32,
        uint64 as uint64,
        variant as variant,
    )
    from gpugraph.base.errors import OpError as OpError
    from gpugraph.base.shapes import (
        Dimension as Dimension,
        TensorShape as TensorShape,
        dimension_at_index as dimension_at_index,
        dimension_value as dimension_value,
    )
    from gpugraph.building.compatibility.tensorflow_versions import (
        control_flow_v2_enabled as control_flow_v2_enabled,
        disable_control_flow_v2 as disable_control_flow_v2,
        disable_eager_execution as disable_eager_execution,
        disable_tensor_equality as disable_tensor_equality,
        disable_v2_behavior as disable_v2_behavior,
        disable_v2_tensorshape as disable_v2_tensorshape,
        enable_control_flow_v2 as enable_control_flow_v2,
        enable_eager_execution as enable_eager_execution,
        enable_tensor_equality as enable_tensor_equality,
        enable_v2_behavior as enable_v2_behavior,
        enable_v2_tensorshape as enable_v2_tensorshape,
        executing_eagerly_outside_functions as executing_eagerly_outside_functions,
        is_symbolic_tensor as is_symbolic_tensor,
    )
    from gpugraph.config import (
        ConfigProto as ConfigProto,
        GPUOptions as GPUOptions,
        GraphOptions as GraphOptions,
        OptimizerOptions as OptimizerOptions,
        RunMetadata as RunMetadata,
        RunOptions as RunOptions,
        SessionOptions as SessionOptions,
    )
    from gpugraph.building.control_flow import (
        case as case,
        cond as cond,
        switch_case as switch_case,
        while_loop as while_loop,
    )
    from gpugraph.building.control_flow.critical_section import CriticalSection as CriticalSection
    from gpugraph.building.control_flow.map_fold_scan import (
        foldl as foldl,
        foldr as foldr,
        map_fn as map_fn,
        scan as scan,
    )
    from gpugraph.building.control_flow.vectorized_map import vectorized_map as vectorized_map
    from gpugraph.building.gradients import (
        AggregationMethod as AggregationMethod,
        NotDifferentiable as NotDifferentiable,
        RegisterGradient as RegisterGradient,
        UnconnectedGradients as UnconnectedGradients,
        custom_gradient as custom_gradient,
        grad_pass_through as grad_pass_through,
        gradients as gradients,
        hessians as hessians,
        recompute_grad as recompute_grad,
    )
    from gpugraph.graph.client.client_graph import Graph as Graph
    from gpugraph.graph.client.default_graph_functions import (
        add_to_collection as add_to_collection,
        add_to_collections as add_to_collections,
        colocate_with as colocate_with,
        container as container,
        control_dependencies as control_dependencies,
        device as device,
        executing_eagerly as executing_eagerly,
        get_collection as get_collection,
        get_collection_ref as get_collection_ref,
        get_default_graph as get_default_graph,
        get_default_session as get_default_session,
        init_scope as init_scope,
        name_scope as name_scope,
        op_scope as op_scope,
        reset_default_graph as reset_default_graph,
    )
    from gpugraph.graph.client.graph_collections import GraphKeys as GraphKeys
    from gpugraph.graph.client.indexed_slices import IndexedSlices as IndexedSlices
    from gpugraph.graph.client.operation import Operation as Operation
    from gpugraph.graph.client.tensor import Tensor as Tensor
    from gpugraph.graph.client.indexed_slices_spec import IndexedSlicesSpec as IndexedSlicesSpec
    from gpugraph.graph.client.tensor_spec import TensorSpec as TensorSpec
    from gpugraph.graph.client.type_spec import TypeSpec as TypeSpec
    from gpugraph.ops.sparse.sparse_tensor_spec import SparseTensorSpec as SparseTensorSpec
    from gpugraph.ops.tensor_arrays.tensor_array_spec import TensorArraySpec as TensorArraySpec
    from gpugraph.graph.device_names import DeviceSpec as DeviceSpec
    from gpugraph.graph.op_def import OpDef as OpDef
    from gpugraph.library import (
        distribute as distribute,
        distributions as distributions,
        feature_column as feature_column,
        keras as keras,
        layers as layers,
        lookup as lookup,
        losses as losses,
        metrics as metrics,
        summary as summary,
        train as train,
    )
    from gpugraph.kernel import (
        Call as Call,
        Elementwise as Elementwise,
        Reduction as Reduction,
        Sized as Sized,
        Source as Source,
    )
    from gpugraph.building.variables.module import Module as Module
    from gpugraph.building.variables.static_value import get_static_value as get_static_value
    from gpugraph.ops.random.random_ops import get_seed as get_seed
    from gpugraph.platform import (
        app as app,
        flags as flags,
        logging as logging,
        resource_loader as resource_loader,
    )
    from gpugraph.session import InteractiveSession as InteractiveSession, Session as Session
    from gpugraph.tensorflow_import.import_switch import as_tensorflow as as_tensorflow
    from gpugraph.building.variable_scope import (
        AUTO_REUSE as AUTO_REUSE,
        VariableScope as VariableScope,
        create_partitioned_variables as create_partitioned_variables,
        explain_variables as explain_variables,
        fixed_size_partitioner as fixed_size_partitioner,
        get_local_variable as get_local_variable,
        get_variable as get_variable,
        get_variable_scope as get_variable_scope,
        min_max_variable_partitioner as min_max_variable_partitioner,
        no_regularizer as no_regularizer,
        variable_axis_size_partitioner as variable_axis_size_partitioner,
        variable_op_scope as variable_op_scope,
        variable_scope as variable_scope,
    )
    from gpugraph.building.variable_scope.make_template import make_template as make_template
    from gpugraph.building.variables import (
        Variable as Variable,
        VariableAggregation as VariableAggregation,
        VariableSynchronization as VariableSynchronization,
        all_variables as all_variables,
        assert_variables_initialized as assert_variables_initialized,
        disable_resource_variables as disable_resource_variables,
        enable_resource_variables as enable_resource_variables,
        global_variables as global_variables,
        global_variables_initializer as global_variables_initializer,
        is_tensor as is_tensor,
        is_variable_initialized as is_variable_initialized,
        local_variables as local_variables,
        local_variables_initializer as local_variables_initializer,
        model_variables as model_variables,
        moving_average_variables as moving_average_variables,
        report_uninitialized_variables as report_uninitialized_variables,
        resource_variables_enabled as resource_variables_enabled,
        tables_initializer as tables_initializer,
        trainable_variables as trainable_variables,
        variable_creator_scope as variable_creator_scope,
        variables_initializer as variables_initializer,
    )
    from gpugraph.api.top_level import *

    NoGradient = NotDifferentiable
    initialize_all_tables = tables_initializer
    initialize_all_variables = global_variables_initializer
    initialize_local_variables = local_variables_initializer
    initialize_variables = variables_initializer
    no_gradient = NotDifferentiable
else:
    __getattr__, __dir__, __all__ = deferred_names(
        __name__, missing_attribute, "gpugraph.tensorflow_import.private_attributes"
    )

__version__ = VERSION
__git_version__ = GIT_VERSION
__compiler_version__ = COMPILER_VERSION
__cxx11_abi_flag__ = CXX11_ABI_FLAG
__monolithic_build__ = MONOLITHIC_BUILD
