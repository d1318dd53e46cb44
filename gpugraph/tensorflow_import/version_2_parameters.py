"""The parameters of `tf.compat.v2` functions that differ from the parameters in version 1.

A row is a list of names relative to `tf.compat.v2`, followed by their parameters in order. `a=b`
means that parameter `a` is passed as `b`, if version 1 has no parameter `a`. `a:default` is a
parameter with a default. If the default is an empty text, it means None. An indented line continues
the previous line.
"""

from __future__ import annotations

import functools
import inspect
import re
from ast import literal_eval
from collections.abc import Callable
from typing import Any

from gpugraph.base import dtypes

_ROWS = """
argmax argmin math.argmax math.argmin: input axis: output_type:int64 name:
assert_equal assert_greater assert_less debugging.assert_equal debugging.assert_greater
    debugging.assert_greater_equal debugging.assert_less debugging.assert_less_equal: x y message:
    summarize: name:
assert_rank debugging.assert_rank debugging.assert_rank_at_least: x rank message: name:
batch_to_space: input block_shape=block_size crops name:
boolean_mask: tensor mask axis: name:boolean_mask
cond: pred true_fn: false_fn: name:
constant: value dtype: shape: name:Const
convert_to_tensor: value dtype: dtype_hint: name:
debugging.assert_all_finite: x=t message=msg name:
debugging.assert_near: x y rtol: atol: message: summarize: name:
debugging.assert_negative debugging.assert_non_negative debugging.assert_non_positive
    debugging.assert_positive: x message: summarize: name:
debugging.assert_none_equal: x y summarize: message: name:
debugging.assert_rank_in: x ranks message: name:
debugging.assert_scalar: tensor message: name:
expand_dims: input axis name:
gather: params indices validate_indices: axis: batch_dims:0 name:
gather_nd: params indices batch_dims:0 name:
gradients: ys xs grad_ys: name:gradients gate_gradients:False aggregation_method: stop_gradients:
    unconnected_gradients:none
hessians: ys xs gate_gradients:False aggregation_method: name:hessians
image.crop_and_resize: image boxes box_indices=box_ind crop_size method:bilinear
    extrapolation_value:0 name:
image.draw_bounding_boxes: images boxes colors name:
io.decode_csv: records record_defaults field_delim:, use_quote_delim:True na_value: select_cols:
    name:
io.decode_raw: input_bytes=bytes out_type little_endian:True fixed_length: name:
io.parse_example io.parse_single_example: serialized features example_names: name:
io.serialize_many_sparse io.serialize_sparse: sp_input out_type:string name:
linalg.l2_normalize math.l2_normalize nn.l2_normalize: x axis=dim: epsilon:1e-12 name:
linalg.norm norm: tensor ord:euclidean axis: keepdims: name:
math.bincount: arr weights: minlength: maxlength: dtype:int32 name:
math.confusion_matrix: labels predictions num_classes: weights: dtype:int32 name:
math.count_nonzero: input=input_tensor axis: keepdims: dtype:int64 name:
math.in_top_k nn.in_top_k: targets predictions k name:
math.log_softmax math.softmax nn.log_softmax: logits axis: name:
math.reduce_all math.reduce_any math.reduce_logsumexp math.reduce_max math.reduce_mean
    math.reduce_min math.reduce_prod math.reduce_sum reduce_all reduce_any reduce_logsumexp
    reduce_max reduce_mean reduce_min reduce_prod reduce_sum: input_tensor axis: keepdims:False
    name:
nn.avg_pool nn.max_pool: input=value ksize strides padding data_format: name:
nn.avg_pool2d: input=value ksize strides padding data_format:NHWC name:
nn.batch_norm_with_global_normalization: input=t mean=m variance=v beta gamma variance_epsilon
    scale_after_normalization name:
nn.conv1d: input=value filters stride padding data_format:NWC dilations: name:
nn.conv2d: input filters=filter strides padding data_format:NHWC dilations: name:
nn.conv3d: input filters=filter strides padding data_format:NDHWC dilations: name:
nn.convolution: input filters=filter strides: padding:VALID data_format: dilations=dilation_rate:
    name:
nn.crelu: features axis:-1 name:
nn.ctc_beam_search_decoder: inputs sequence_length beam_width:100 top_paths:1
nn.depth_to_space nn.space_to_depth: input block_size data_format:NHWC name:
nn.depthwise_conv2d: input filter strides padding data_format: dilations=rate: name:
nn.dropout: x rate noise_shape: seed: name:
nn.embedding_lookup: params ids max_norm: name:
nn.embedding_lookup_sparse: params sp_ids sp_weights combiner: max_norm: name:
nn.max_pool_with_argmax: input ksize strides padding data_format:NHWC output_dtype:int64
    include_batch_in_index:False name:
nn.moments nn.sufficient_statistics: x axes shift: keepdims=keep_dims:False name:
nn.pool: input window_shape pooling_type strides: padding:VALID data_format:
    dilations=dilation_rate: name:
nn.separable_conv2d: input depthwise_filter pointwise_filter strides padding data_format:
    dilations=rate: name:
nn.sigmoid_cross_entropy_with_logits: labels: logits: name:
nn.softmax: logits axis=dim: name:
nn.softmax_cross_entropy_with_logits: labels logits axis=dim:-1 name:
nn.space_to_batch space_to_batch: input block_shape=block_size paddings name:
nn.sparse_softmax_cross_entropy_with_logits: labels logits name:
nn.weighted_cross_entropy_with_logits: labels=targets logits pos_weight name:
nn.weighted_moments: x axes frequency_weights keepdims=keep_dims:False name:
ones_like zeros_like: input=tensor dtype: name:
pad: tensor paddings mode:CONSTANT constant_values:0 name:
random.poisson: shape lam dtype:float32 seed: name:
reverse_sequence: input seq_lengths seq_axis=seq_dim: batch_axis=batch_dim: name:
shape size: input out_type:int32 name:
sparse.add: a b threshold=thresh:0
sparse.concat: axis sp_inputs expand_nonconcat_dims=expand_nonconcat_dim:False name:
sparse.reduce_max sparse.reduce_sum: sp_input axis: keepdims: output_is_sparse:False name:
sparse.segment_mean sparse.segment_sqrt_n sparse.segment_sum: data indices segment_ids
    num_segments: name:
sparse.split: sp_input: num_split: axis: name:
squeeze: input axis=squeeze_dims: name:
strings.length: input unit:BYTE name:
strings.reduce_join: inputs axis: keepdims=keep_dims:False separator: name:
strings.substr: input pos len unit:BYTE name:
strings.to_hash_bucket: input=string_tensor num_buckets name:
strings.to_number: input=string_tensor out_type:float32 name:
test.assert_equal_graph_def: expected actual
transpose: a perm: conjugate:False name:transpose
tuple: tensors control_inputs: name:
while_loop: cond body loop_vars shape_invariants: parallel_iterations:10 back_prop:True
    swap_memory:False maximum_iterations: name:
"""


Parameters = tuple[tuple[str, str, Any], ...]
"""For each parameter: its name, its name in version 1, and its default (`_REQUIRED` if it has
none).
"""

_REQUIRED = inspect.Parameter.empty


def parameters_of(text: str) -> Parameters:
    """Return the parameters of a row."""
    parts = []
    for word in text.split():
        first, has_default, default = word.partition(":")
        name, _, other = first.partition("=")
        parts.append((name, other or name, _value(default) if has_default else _REQUIRED))
    return tuple(parts)


def _value(text: str) -> Any:
    """Return the default that a text describes: a number, a bool, a dtype or a string."""
    if not text:
        return None
    try:
        return literal_eval(text)
    except (SyntaxError, ValueError):
        return getattr(dtypes, text, text)


def _read(text: str) -> dict[str, Parameters]:
    rows = {}
    for line in re.sub(r"\n +", " ", text).strip().splitlines():
        names, _, parameters = line.partition(": ")
        rows.update(dict.fromkeys(names.split(), parameters_of(parameters)))
    return rows


_PARAMETERS = _read(_ROWS)


def version_2(path: str, value: Any) -> Any:
    """Return the version 1 function `tf.<path>` with the parameters of `tf.compat.v2.<path>`.

    If the parameters are equal, the result is the version 1 function itself.
    """
    parameters = _PARAMETERS.get(path)
    return value if parameters is None else with_parameters(value, path, parameters)


@functools.cache
def with_parameters(
    function: Callable[..., Any], path: str, parameters: Parameters
) -> Callable[..., Any]:
    """Return a function that accepts the given parameters and calls `function`."""
    known = inspect.signature(function).parameters
    names = {name: name if name in known else other for name, other, _ in parameters}
    order = list(names.values())
    unknown = [name for name in order if name not in known]  # accepted if they ask for nothing

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(order):
            raise TypeError(
                f"{path}() takes {len(order)} positional arguments but {len(args)} were given"
            )
        by_name = {names.get(name, name): value for name, value in kwargs.items()}
        for name, value in zip(order, args):
            if name in by_name:
                raise TypeError(f"{path}() got multiple values for argument '{name}'")
            by_name[name] = value
        for name in unknown:
            if name in by_name and not by_name[name]:
                del by_name[name]
        return function(**by_name)

    vars(call).pop("__wrapped__")
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
            for name, _, default in parameters
        ]
    )
    return call
