"""`tf.contrib.framework`: `arg_scope` for default arguments, and functions that select a model's
variables.
"""

from gpugraph.base import nest as nest
from gpugraph.building.checks import (
    assert_same_float_dtype as assert_same_float_dtype,
    is_non_decreasing as is_non_decreasing,
    is_numeric_tensor as is_numeric_tensor,
    is_strictly_increasing as is_strictly_increasing,
)
from gpugraph.building.compatibility.deprecation_decorators import (
    deprecated as deprecated,
    deprecated_arg_values as deprecated_arg_values,
    deprecated_args as deprecated_args,
)
from gpugraph.library.contrib.framework import (
    BoundedTensorSpec as BoundedTensorSpec,
    VariableDeviceChooser as VariableDeviceChooser,
    assert_or_get_global_step as assert_or_get_global_step,
    assert_scalar as assert_scalar,
    assert_scalar_int as assert_scalar_int,
    assign_from_checkpoint as assign_from_checkpoint,
    assign_from_checkpoint_fn as assign_from_checkpoint_fn,
    assign_from_values as assign_from_values,
    assign_from_values_fn as assign_from_values_fn,
    filter_variables as filter_variables,
    get_graph_from_inputs as get_graph_from_inputs,
    get_name_scope as get_name_scope,
    get_placeholders as get_placeholders,
    get_variable_full_name as get_variable_full_name,
    get_variables_to_restore as get_variables_to_restore,
    global_variable as global_variable,
    init_from_checkpoint as init_from_checkpoint,
    list_variables as list_variables,
    load_checkpoint as load_checkpoint,
    load_linear_multiclass_bias_initializer as load_linear_multiclass_bias_initializer,
    load_variable as load_variable,
    load_variable_slot_initializer as load_variable_slot_initializer,
    local_variable as local_variable,
    prepend_name_scope as prepend_name_scope,
    reduce_sum_n as reduce_sum_n,
    remove_squeezable_dimensions as remove_squeezable_dimensions,
    smart_case as smart_case,
    smart_cond as smart_cond,
    smart_constant_value as smart_constant_value,
    strip_name_scope as strip_name_scope,
    with_same_shape as with_same_shape,
    with_shape as with_shape,
    zero_initializer as zero_initializer,
)
from gpugraph.library.contrib.layers import (
    add_model_variable as add_model_variable,
    get_local_variables as get_local_variables,
    get_model_variables as get_model_variables,
    get_trainable_variables as get_trainable_variables,
    get_unique_variable as get_unique_variable,
    get_variables as get_variables,
    get_variables_by_name as get_variables_by_name,
    get_variables_by_suffix as get_variables_by_suffix,
    model_variable as model_variable,
    variable as variable,
)
from gpugraph.graph.client.tensor_spec import TensorSpec as TensorSpec
from gpugraph.library.contrib.framework.python_functions import py_func as py_func
from gpugraph.ops.indexing.sort_and_search import argsort as argsort, sort as sort
from gpugraph.ops.random import orthogonal_convolutions as _orthogonal_convolutions
from gpugraph.ops.sparse.sparse_tensor import (
    convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor,
)
from gpugraph.library.train import (
    assert_global_step as assert_global_step,
    create_global_step as create_global_step,
    get_global_step as get_global_step,
    get_or_create_global_step as get_or_create_global_step,
)
from gpugraph.library.train.savers.remapped_matrices import (
    load_and_remap_matrix_initializer as load_and_remap_matrix_initializer,
    load_embedding_initializer as load_embedding_initializer,
)
from gpugraph.building.variable_scope.arg_scope import (
    add_arg_scope as add_arg_scope,
    arg_scope as arg_scope,
    arg_scope_func_key as arg_scope_func_key,
    arg_scoped_arguments as arg_scoped_arguments,
    current_arg_scope as current_arg_scope,
    has_arg_scope as has_arg_scope,
)
from gpugraph.building.variables import is_tensor as is_tensor

convolutional_delta_orthogonal = _orthogonal_convolutions.ConvolutionDeltaOrthogonal
convolutional_orthogonal_1d = _orthogonal_convolutions.ConvolutionOrthogonal1D
convolutional_orthogonal_2d = _orthogonal_convolutions.ConvolutionOrthogonal2D
convolutional_orthogonal_3d = _orthogonal_convolutions.ConvolutionOrthogonal3D
