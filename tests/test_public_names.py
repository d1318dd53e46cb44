"""The public names: that they are all there, what they take, and that nothing else is public."""

from __future__ import annotations

import functools
import inspect
import re
import types

import numpy as np
import pytest

import gpugraph as tf

CONTRIB = (tf.contrib, tf.contrib.framework, tf.contrib.layers, tf.contrib.slim)
FACES = (tf, tf.nn, tf.math, tf.random, tf.linalg, tf.initializers, *CONTRIB)
ROOMS = (tf.train, tf.errors, tf.dtypes, tf.devices, tf.memory, tf.session, tf.nn.rnn_cell)

# TensorFlow 1.15's parameters, in order, `self` left out; a line that is indented goes on.
SIGNATURES = """
Assert: condition data summarize name
DeviceSpec: job replica task device_type device_index
Dimension: value
Graph:
IndexedSlices: values indices dense_shape
InteractiveSession: target graph config
NoGradient: op_type
NotDifferentiable: op_type
OpError: node_def op message error_code
RegisterGradient: op_type
Session: target graph config
TensorArray: dtype size dynamic_size clear_after_read tensor_array_name handle flow infer_shape
    element_shape colocate_with_first_write_call name
TensorShape: dims
Variable: initial_value trainable collections validate_shape caching_device name variable_def dtype
    expected_shape import_scope constraint use_resource synchronization aggregation shape
VariableScope: reuse name initializer regularizer caching_device partitioner custom_getter
    name_scope dtype use_resource constraint
abs: x name
add: x y name
add_n: inputs name
add_to_collection: name value
add_to_collections: names value
argmax: input axis name dimension output_type
argmin: input axis name dimension output_type
as_dtype: type_value
assert_variables_initialized: var_list
assign: ref value validate_shape use_locking name
assign_add: ref value use_locking name
assign_sub: ref value use_locking name
batch_scatter_update: ref indices updates use_locking name
boolean_mask: tensor mask name axis
broadcast_to: input shape name
case: pred_fn_pairs default exclusive strict name
cast: x dtype name
ceil: x name
clip_by_average_norm: t clip_norm name
clip_by_global_norm: t_list clip_norm use_norm name
clip_by_norm: t clip_norm axes name
clip_by_value: t clip_value_min clip_value_max name
colocate_with: op ignore_existing
concat: values axis name
cond: pred true_fn false_fn strict name fn1 fn2
conj: x name
constant: value dtype shape name verify_shape
constant_initializer: value dtype verify_shape
container: container_name
contrib.framework.add_arg_scope: func
contrib.framework.add_model_variable: var
contrib.framework.arg_scope: list_ops_or_scope
contrib.framework.arg_scope_func_key: op
contrib.framework.arg_scoped_arguments: func
contrib.framework.current_arg_scope:
contrib.framework.get_local_variables: scope suffix
contrib.framework.get_model_variables: scope suffix
contrib.framework.get_trainable_variables: scope suffix
contrib.framework.get_unique_variable: var_op_name
contrib.framework.get_variables: scope suffix collection
contrib.framework.get_variables_by_name: given_name scope
contrib.framework.get_variables_by_suffix: suffix scope
contrib.framework.has_arg_scope: func
contrib.framework.model_variable: name shape dtype initializer regularizer trainable collections
    caching_device device partitioner custom_getter use_resource synchronization aggregation
contrib.framework.variable: name shape dtype initializer regularizer trainable collections
    caching_device device partitioner custom_getter use_resource synchronization aggregation
contrib.layers.apply_regularization: regularizer weights_list
contrib.layers.avg_pool2d: inputs kernel_size stride padding data_format outputs_collections scope
contrib.layers.batch_norm: inputs decay center scale epsilon activation_fn param_initializers
    param_regularizers updates_collections is_training reuse variables_collections
    outputs_collections trainable batch_weights fused data_format zero_debias_moving_mean scope
    renorm renorm_clipping renorm_decay adjustment
contrib.layers.conv2d: inputs num_outputs kernel_size stride padding data_format rate activation_fn
    normalizer_fn normalizer_params weights_initializer weights_regularizer biases_initializer
    biases_regularizer reuse variables_collections outputs_collections trainable scope
contrib.layers.dropout: inputs keep_prob noise_shape is_training outputs_collections scope seed
contrib.layers.flatten: inputs outputs_collections scope
contrib.layers.fully_connected: inputs num_outputs activation_fn normalizer_fn normalizer_params
    weights_initializer weights_regularizer biases_initializer biases_regularizer reuse
    variables_collections outputs_collections trainable scope
contrib.layers.l1_l2_regularizer: scale_l1 scale_l2 scope
contrib.layers.l1_regularizer: scale scope
contrib.layers.l2_regularizer: scale scope
contrib.layers.linear: inputs num_outputs
contrib.layers.max_pool2d: inputs kernel_size stride padding data_format outputs_collections scope
contrib.layers.repeat: inputs repetitions layer
contrib.layers.stack: inputs layer stack_args
contrib.layers.sum_regularizer: regularizer_list scope
contrib.layers.variance_scaling_initializer: factor mode uniform seed dtype
contrib.layers.xavier_initializer: uniform seed dtype
control_dependencies: control_inputs
convert_to_tensor: value dtype name preferred_dtype dtype_hint
cos: x name
create_partitioned_variables: shape slicing initializer dtype trainable collections name reuse
cumprod: x axis exclusive reverse name
cumsum: x axis exclusive reverse name
custom_gradient: f
device: device_name_or_function
div: x y name
div_no_nan: x y name
disable_resource_variables:
divide: x y name
dynamic_partition: data partitions num_partitions name
dynamic_stitch: indices data name
enable_resource_variables:
equal: x y name
erf: x name
errors.AbortedError: node_def op message
errors.AlreadyExistsError: node_def op message
errors.CancelledError: node_def op message
errors.DataLossError: node_def op message
errors.DeadlineExceededError: node_def op message
errors.FailedPreconditionError: node_def op message
errors.InternalError: node_def op message
errors.InvalidArgumentError: node_def op message
errors.NotFoundError: node_def op message
errors.OpError: node_def op message error_code
errors.OutOfRangeError: node_def op message
errors.PermissionDeniedError: node_def op message
errors.ResourceExhaustedError: node_def op message
errors.UnauthenticatedError: node_def op message
errors.UnavailableError: node_def op message
errors.UnimplementedError: node_def op message
errors.UnknownError: node_def op message error_code
errors.error_code_from_exception_type: cls
errors.exception_type_from_error_code: error_code
exp: x name
expand_dims: input axis name dim
expm1: x name
fill: dims value name
fixed_size_partitioner: num_shards axis
floor: x name
floor_div: x y name
floordiv: x y name
floormod: x y name
foldl: fn elems initializer parallel_iterations back_prop swap_memory name
foldr: fn elems initializer parallel_iterations back_prop swap_memory name
gather: params indices validate_indices name axis batch_dims
gather_nd: params indices name batch_dims
get_collection: key scope
get_collection_ref: key
get_default_graph:
get_default_session:
get_local_variable: name shape dtype initializer regularizer trainable collections caching_device
    partitioner validate_shape use_resource custom_getter constraint synchronization aggregation
get_variable: name shape dtype initializer regularizer trainable collections caching_device
    partitioner validate_shape use_resource custom_getter constraint synchronization aggregation
get_variable_scope:
global_norm: t_list name
global_variables: scope
global_variables_initializer:
glorot_normal_initializer: seed dtype
glorot_uniform_initializer: seed dtype
gradients: ys xs grad_ys name colocate_gradients_with_ops gate_gradients aggregation_method
    stop_gradients unconnected_gradients
greater: x y name
greater_equal: x y name
hessians: ys xs name colocate_gradients_with_ops gate_gradients aggregation_method
identity: input name
identity_n: input name
init_scope:
initializers.constant: value dtype verify_shape
initializers.glorot_normal: seed dtype
initializers.glorot_uniform: seed dtype
initializers.he_normal: seed
initializers.he_uniform: seed
initializers.lecun_normal: seed
initializers.lecun_uniform: seed
initializers.ones: dtype
initializers.random_normal: mean stddev seed dtype
initializers.random_uniform: minval maxval seed dtype
initializers.truncated_normal: mean stddev seed dtype
initializers.variance_scaling: scale mode distribution seed dtype
initializers.zeros: dtype
invert_permutation: x name
is_finite: x name
is_inf: x name
is_nan: x name
is_variable_initialized: variable
less: x y name
less_equal: x y name
lin_space: start stop num name
linalg.transpose: a name conjugate
linspace: start stop num name
local_variables: scope
local_variables_initializer:
log: x name
log1p: x name
logical_and: x y name
logical_not: x name
logical_or: x y name
logical_xor: x y name
make_template: name_ func_ create_scope_now_ unique_name_ custom_getter_
map_fn: fn elems dtype parallel_iterations back_prop swap_memory infer_shape name
math.divide_no_nan: x y name
math.in_top_k: predictions targets k name
math.log_softmax: logits axis name dim
math.softmax: logits axis name dim
math.softplus: features name
math.top_k: input k sorted name
matmul: a b transpose_a transpose_b adjoint_a adjoint_b a_is_sparse b_is_sparse name
matrix_transpose: a name conjugate
maximum: x y name
min_max_variable_partitioner: max_partitions axis min_slice_size bytes_per_string_element
minimum: x y name
mod: x y name
model_variables: scope
moving_average_variables: scope
multiply: x y name
name_scope: name default_name values
negative: x name
nn.avg_pool: value ksize strides padding data_format name input
nn.batch_normalization: x mean variance offset scale variance_epsilon name
nn.bias_add: value bias data_format name
nn.bidirectional_dynamic_rnn: cell_fw cell_bw inputs sequence_length initial_state_fw
    initial_state_bw dtype parallel_iterations swap_memory time_major scope
nn.conv2d: input filter strides padding use_cudnn_on_gpu data_format dilations name filters
nn.conv2d_backprop_filter: input filter_sizes out_backprop strides padding use_cudnn_on_gpu
    data_format dilations name
nn.conv2d_backprop_input: input_sizes filter out_backprop strides padding use_cudnn_on_gpu
    data_format dilations name filters
nn.conv2d_transpose: value filter output_shape strides padding data_format name input filters
    dilations
nn.depthwise_conv2d: input filter strides padding rate name data_format dilations
nn.depthwise_conv2d_native: input filter strides padding data_format dilations name
nn.dropout: x keep_prob noise_shape seed name rate
nn.dynamic_rnn: cell inputs sequence_length initial_state dtype parallel_iterations swap_memory
    time_major scope
nn.elu: features name
nn.embedding_lookup: params ids partition_strategy name validate_indices max_norm
nn.in_top_k: predictions targets k name
nn.l2_loss: t name
nn.leaky_relu: features alpha name
nn.log_softmax: logits axis name dim
nn.max_pool: value ksize strides padding data_format name input
nn.moments: x axes shift name keep_dims keepdims
nn.raw_rnn: cell loop_fn parallel_iterations swap_memory scope
nn.relu: features name
nn.relu6: features name
nn.separable_conv2d: input depthwise_filter pointwise_filter strides padding rate name data_format
    dilations
nn.sigmoid_cross_entropy_with_logits: _sentinel labels logits name
nn.softmax: logits axis name dim
nn.softmax_cross_entropy_with_logits: _sentinel labels logits dim name axis
nn.softmax_cross_entropy_with_logits_v2: labels logits axis name dim
nn.softplus: features name
nn.sparse_softmax_cross_entropy_with_logits: _sentinel labels logits name
nn.static_bidirectional_rnn: cell_fw cell_bw inputs initial_state_fw initial_state_bw dtype
    sequence_length scope
nn.static_rnn: cell inputs initial_state dtype sequence_length scope
nn.top_k: input k sorted name
nn.xw_plus_b: x weights biases name
no_op: name
no_regularizer: _
not_equal: x y name
numpy_function: func inp Tout name
one_hot: indices depth on_value off_value axis dtype name
ones: shape dtype name
ones_initializer: dtype
ones_like: tensor dtype name optimize
pad: tensor paddings mode name constant_values
placeholder: dtype shape name
placeholder_with_default: input shape name
pow: x y name
py_func: func inp Tout stateful name
random.get_seed: op_seed
random.normal: shape mean stddev dtype seed name
random.uniform: shape minval maxval dtype seed name
random_normal: shape mean stddev dtype seed name
random_normal_initializer: mean stddev seed dtype
random_uniform: shape minval maxval dtype seed name
random_uniform_initializer: minval maxval seed dtype
range: start limit delta dtype name
rank: input name
reciprocal: x name
reduce_all: input_tensor axis keepdims name reduction_indices keep_dims
reduce_any: input_tensor axis keepdims name reduction_indices keep_dims
reduce_logsumexp: input_tensor axis keepdims name reduction_indices keep_dims
reduce_max: input_tensor axis keepdims name reduction_indices keep_dims
reduce_mean: input_tensor axis keepdims name reduction_indices keep_dims
reduce_min: input_tensor axis keepdims name reduction_indices keep_dims
reduce_prod: input_tensor axis keepdims name reduction_indices keep_dims
reduce_sum: input_tensor axis keepdims name reduction_indices keep_dims
register_tensor_conversion_function: base_type conversion_func priority
report_uninitialized_variables: var_list name
reset_default_graph:
reshape: tensor shape name
resource_variables_enabled:
reverse: tensor axis name
reverse_sequence: input seq_lengths seq_axis batch_axis name seq_dim batch_dim
rint: x name
rnn.rnn_cell.BasicLSTMCell: num_units forget_bias state_is_tuple activation reuse name dtype
rnn.rnn_cell.BasicRNNCell: num_units activation reuse name dtype
rnn.rnn_cell.DeviceWrapper: cell device
rnn.rnn_cell.DropoutWrapper: cell input_keep_prob output_keep_prob state_keep_prob
    variational_recurrent input_size dtype seed dropout_state_filter_visitor
rnn.rnn_cell.GRUCell: num_units activation reuse kernel_initializer bias_initializer name dtype
rnn.rnn_cell.LSTMCell: num_units use_peepholes cell_clip initializer num_proj proj_clip
    num_unit_shards num_proj_shards forget_bias state_is_tuple activation reuse name dtype
rnn.rnn_cell.MultiRNNCell: cells state_is_tuple
rnn.rnn_cell.RNNCell: trainable name dtype
rnn.rnn_cell.ResidualWrapper: cell residual_fn
round: x name
rsqrt: x name
scan: fn elems initializer parallel_iterations back_prop swap_memory infer_shape reverse name
scatter_add: ref indices updates use_locking name
scatter_div: ref indices updates use_locking name
scatter_max: ref indices updates use_locking name
scatter_min: ref indices updates use_locking name
scatter_mul: ref indices updates use_locking name
scatter_nd: indices updates shape name
scatter_nd_add: ref indices updates use_locking name
scatter_nd_sub: ref indices updates use_locking name
scatter_nd_update: ref indices updates use_locking name
scatter_sub: ref indices updates use_locking name
scatter_update: ref indices updates use_locking name
set_random_seed: seed
shape: input name out_type
shape_n: input out_type name
sigmoid: x name
sign: x name
sin: x name
size: input name out_type
slice: input_ begin size name
split: value num_or_size_splits axis num name
sqrt: x name
square: x name
squared_difference: x y name
squeeze: input axis name squeeze_dims
stack: values axis name
stop_gradient: input name
strided_slice: input_ begin end strides begin_mask end_mask ellipsis_mask new_axis_mask
    shrink_axis_mask var name
subtract: x y name
switch_case: branch_index branch_fns default name
tan: x name
tanh: x name
tensordot: a b axes name
tile: input multiples name
to_double: x name
to_float: x name
to_int32: x name
to_int64: x name
train.AdadeltaOptimizer: learning_rate rho epsilon use_locking name
train.AdagradDAOptimizer: learning_rate global_step initial_gradient_squared_accumulator_value
    l1_regularization_strength l2_regularization_strength use_locking name
train.AdagradOptimizer: learning_rate initial_accumulator_value use_locking name
train.AdamOptimizer: learning_rate beta1 beta2 epsilon use_locking name
train.ExponentialMovingAverage: decay num_updates zero_debias name
train.FtrlOptimizer: learning_rate learning_rate_power initial_accumulator_value
    l1_regularization_strength l2_regularization_strength use_locking name accum_name
    linear_name l2_shrinkage_regularization_strength
train.GradientDescentOptimizer: learning_rate use_locking name
train.MomentumOptimizer: learning_rate momentum use_locking name use_nesterov
train.Optimizer: use_locking name
train.ProximalAdagradOptimizer: learning_rate initial_accumulator_value
    l1_regularization_strength l2_regularization_strength use_locking name
train.ProximalGradientDescentOptimizer: learning_rate l1_regularization_strength
    l2_regularization_strength use_locking name
train.RMSPropOptimizer: learning_rate decay momentum epsilon use_locking centered name
train.assert_global_step: global_step_tensor
train.cosine_decay: learning_rate global_step decay_steps alpha name
train.cosine_decay_restarts: learning_rate global_step first_decay_steps t_mul m_mul alpha name
train.create_global_step: graph
train.exponential_decay: learning_rate global_step decay_steps decay_rate staircase name
train.get_global_step: graph
train.get_or_create_global_step: graph
train.global_step: sess global_step_tensor
train.inverse_time_decay: learning_rate global_step decay_steps decay_rate staircase name
train.linear_cosine_decay: learning_rate global_step decay_steps num_periods alpha beta name
train.natural_exp_decay: learning_rate global_step decay_steps decay_rate staircase name
train.noisy_linear_cosine_decay: learning_rate global_step decay_steps initial_variance
    variance_decay num_periods alpha beta name
train.piecewise_constant: x boundaries values name
train.piecewise_constant_decay: x boundaries values name
train.polynomial_decay: learning_rate global_step decay_steps end_learning_rate power cycle name
trainable_variables: scope
transpose: a perm name conjugate
truediv: x y name
truncated_normal: shape mean stddev dtype seed name
truncated_normal_initializer: mean stddev seed dtype
truncatediv: x y name
truncatemod: x y name
tuple: tensors name control_inputs
unique: x out_idx name
unsorted_segment_sum: data segment_ids num_segments name
unstack: value num axis name
variable_axis_size_partitioner: max_shard_bytes axis bytes_per_string_element max_shards
variable_creator_scope: variable_creator
variable_op_scope: values name_or_scope default_name initializer regularizer caching_device
    partitioner custom_getter reuse dtype use_resource constraint
variable_scope: name_or_scope default_name values initializer regularizer caching_device partitioner
    custom_getter reuse dtype use_resource constraint auxiliary_name_scope
variables_initializer: var_list name
variance_scaling_initializer: scale mode distribution seed dtype
where: condition x y name
while_loop: cond body loop_vars shape_invariants parallel_iterations back_prop swap_memory name
    maximum_iterations return_same_structure
zeros: shape dtype name
zeros_initializer: dtype
zeros_like: tensor dtype name optimize
"""

# What TensorFlow has not, or has with parameters that say nothing.
OURS = """
AUTO_REUSE AggregationMethod Attr Call ConfigProto DType Elementwise GPUOptions GraphKeys
GraphOptions
HostOnly NodeDef OpDef Operation OptimizerOptions Reduction RunMetadata RunOptions
SessionOptions Source Tensor UnconnectedGradients VariableAggregation VariableSynchronization
all_variables explain_variables group initialize_all_variables
initialize_local_variables initialize_variables initializers.Initializer register_kernel
register_op errors.InaccessibleTensorError errors.OperatorNotAllowedInGraphError
rnn.rnn_cell.LSTMStateTuple
"""

# Parameters that we take beyond TensorFlow's, after all of them.
MORE = {"shape": ["optimize"]}


def face_name(module: types.ModuleType, name: str) -> str:
    return name if module is tf else f"{module.__name__.removeprefix('gpugraph.')}.{name}"


def public(modules: tuple[types.ModuleType, ...]) -> dict[str, object]:
    """Every public name of these modules that is no module."""
    return {
        face_name(module, name): value
        for module in modules
        for name, value in [(name, getattr(module, name)) for name in module.__all__]
        if not inspect.ismodule(value)
    }


def expected_signatures() -> dict[str, list[str]]:
    lines = re.sub(r"\n +", " ", SIGNATURES.strip()).splitlines()
    return {name: names.split() for name, _, names in (line.partition(":") for line in lines)}


def parameters(value: object) -> list[str]:
    """The names of what can be given by position, without self."""
    target = value.__init__ if inspect.isclass(value) else value
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
    found = inspect.signature(target).parameters.values()
    return [each.name for each in found if each.kind in kinds and each.name != "self"]


@pytest.mark.parametrize("module", FACES + ROOMS, ids=lambda module: module.__name__)
def test_all_that_is_listed_is_there_once(module):
    assert len(set(module.__all__)) == len(module.__all__)
    missing = [name for name in module.__all__ if not hasattr(module, name)]
    assert missing == []


@pytest.mark.parametrize("module", FACES, ids=lambda module: module.__name__)
def test_nothing_else_is_public(module):
    others = {
        name: value
        for name, value in vars(module).items()
        if name not in module.__all__ and not re.fullmatch(r"__\w+__", name)
    }
    strangers = [
        name
        for name, value in others.items()
        if not (inspect.ismodule(value) and value.__name__ == f"{module.__name__}.{name}")
    ]
    assert strangers == []


def test_faces_define_nothing():
    defined = [
        face_name(module, name)
        for module in FACES
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__
    ]
    assert defined == []


def test_numpy_stays_inside():
    leaks = [
        name
        for name, value in public(FACES + ROOMS).items()
        if value is np or (getattr(value, "__module__", None) or "").partition(".")[0] == "numpy"
    ]
    assert leaks == []


def test_functions_and_classes_have_docstrings():
    silent = [
        name
        for name, value in public(FACES + ROOMS).items()
        if inspect.isclass(value) or inspect.isroutine(value)
        if not isinstance(value, types.GenericAlias)  # a class to inspect, on Python 3.10
        if not (value.__doc__ or "").strip()
    ]
    assert silent == []


@pytest.mark.parametrize(("name", "expected"), expected_signatures().items())
def test_signatures_are_tensorflows(name, expected):
    value = functools.reduce(getattr, name.split("."), tf)
    assert parameters(value) == expected + MORE.get(name, [])


def test_every_function_and_class_has_its_line():
    known = {*expected_signatures(), *OURS.split()}
    named = public((*FACES, tf.train, tf.errors, tf.nn.rnn_cell))
    by_identity = {id(value) for name, value in named.items() if name in known}
    unknown = [
        name
        for name, value in named.items()
        if name not in known and callable(value) and id(value) not in by_identity
        if not isinstance(value, tf.DType)
    ]
    assert unknown == []


def test_aliases_are_the_same_objects():
    assert tf.nn.sigmoid is tf.sigmoid is tf.math.sigmoid
    assert tf.random.uniform is tf.random_uniform
    assert tf.initializers.zeros is tf.zeros_initializer
    assert tf.linalg.transpose is tf.matrix_transpose
    assert tf.math.divide_no_nan is tf.div_no_nan
    assert tf.initialize_all_variables is tf.global_variables_initializer
    assert tf.errors.OpError is tf.OpError


def test_the_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", tf.__version__)
