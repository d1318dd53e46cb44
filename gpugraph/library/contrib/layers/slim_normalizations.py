"""Normalization layers other than batch normalization, and a layer that adds biases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.base.dtypes import float16
from gpugraph.building.variable_scope import variable_scope
from gpugraph.building.variable_scope.arg_scope import add_arg_scope
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.layers.layer_collections import collect_outputs, collections_of
from gpugraph.library.contrib.layers.model_variables import model_variable
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.elementwise.unary_functions import sqrt, square
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.normalization.bias_and_moments import (
    batch_normalization,
    bias_add as add_bias,
    moments,
)
from gpugraph.ops.random.variable_initializers import Ones, Zeros
from gpugraph.ops.reductions.reduction_functions import reduce_sum

ZEROS, ONES = Zeros(), Ones()


def _sizes(inputs: Tensor) -> list[int | None]:
    if inputs.shape.sizes is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    return inputs.shape.as_list()


def _check_format(data_format: str) -> None:
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f"data_format has to be either NCHW or NHWC, but it is {data_format!r}")


def _known_channels(inputs: Tensor, axis: int) -> int:
    sizes = _sizes(inputs)
    size = sizes[axis] if -len(sizes) <= axis < len(sizes) else None
    if size is None:
        raise ValueError(f"Inputs {inputs.name} has undefined channels dimension {inputs.shape}.")
    return size


def _scale_and_offset(
    sizes: Sequence[int], inputs: Tensor, wanted: Mapping[str, bool], trainable: bool,
    collections: Any, initializers: Mapping[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Create the variables `beta` and `gamma` of shape `sizes`. A variable that is not wanted is
    None.

    Args:
      wanted: whether to create each variable, by name.
    """
    defaults = {"beta": ZEROS, "gamma": ONES}
    return {
        name: model_variable(
            name,
            shape=sizes,
            dtype=inputs.dtype.base_dtype,
            initializer=(initializers or {}).get(name, default),
            collections=collections_of(collections, name),
            trainable=trainable,
        )
        if wanted[name]
        else None
        for name, default in defaults.items()
    }


@add_arg_scope
def layer_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    activation_fn: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: Any = None,
) -> Tensor:
    """Normalize each example to mean 0 and standard deviation 1. Source: arXiv:1607.06450.

    Raises ValueError for inputs of unknown rank, for axes that the inputs do not have, and for
    unknown sizes of `beta`.

    Args:
      center: whether `beta` is added.
      scale: whether the result is multiplied by `gamma`.
      begin_norm_axis: the first of the axes that are normalized together.
      begin_params_axis: the first of the axes that `beta` and `gamma` have.
    """
    with variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as within:
        source = convert_to_tensor(inputs)
        sizes = _sizes(source)
        rank = len(sizes)
        first = begin_norm_axis + rank if begin_norm_axis < 0 else begin_norm_axis
        if begin_params_axis >= rank or first >= rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({first}) must be < "
                f"rank(inputs) ({rank})"
            )
        known = [size for size in sizes[begin_params_axis:] if size is not None]
        if len(known) < len(sizes[begin_params_axis:]):
            raise ValueError(
                f"Inputs {source.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: "
                f"{source.shape}"
            )
        wanted = {"beta": center, "gamma": scale}
        variables = _scale_and_offset(known, source, wanted, trainable, variables_collections)
        mean, variance = moments(source, list(range(first, rank)), keepdims=True)
        epsilon = 1e-3 if source.dtype.base_dtype == float16 else 1e-12
        outputs = batch_normalization(
            source, mean, variance, variables["beta"], variables["gamma"], epsilon
        )
        return _finish(outputs, source, activation_fn, outputs_collections, within.name)


def _finish(
    outputs: Tensor, inputs: Tensor, activation_fn: Any, collections: Any, alias: str
) -> Tensor:
    outputs.set_shape(inputs.shape)
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collect_outputs(collections, alias, outputs)


@add_arg_scope
def instance_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Any = None,
    param_initializers: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Tensor:
    """Normalize each channel of each example to mean 0 and standard deviation 1.

    Source: arXiv:1607.08022. For the other arguments, see `layer_norm`. Raises ValueError for an
    unsupported data format, and for inputs of unknown rank or an unknown number of channels.

    Args:
      param_initializers: a dict of initializers for `beta` and `gamma`.
    """
    _check_format(data_format)
    with variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse) as within:
        source = convert_to_tensor(inputs)
        if not isinstance(param_initializers or {}, Mapping):
            raise TypeError(f"param_initializers must be a dict, but is {param_initializers!r}")
        rank = len(_sizes(source))
        channels_axis = 1 if data_format == "NCHW" else rank - 1
        channels = _known_channels(source, channels_axis)
        variables = _scale_and_offset(
            [channels], source, {"beta": center, "gamma": scale}, trainable,
            variables_collections, param_initializers,
        )  # fmt: skip
        spread = [1] * rank
        spread[channels_axis] = channels
        axes = [axis for axis in range(1, rank) if axis != channels_axis]
        mean, variance = moments(source, axes, keepdims=True)
        beta, gamma = (
            None if variables[name] is None else reshape(variables[name], spread)
            for name in ("beta", "gamma")
        )
        with name_scope("instancenorm"):
            outputs = batch_normalization(source, mean, variance, beta, gamma, epsilon)
        return _finish(outputs, source, activation_fn, outputs_collections, within.name)


@add_arg_scope
def group_norm(
    inputs: Any,
    groups: int = 32,
    channels_axis: int = -1,
    reduction_axes: Sequence[int] = (-3, -2),
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Any = None,
    param_initializers: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    mean_close_to_zero: bool = False,
) -> Tensor:
    """Normalize groups of channels of each example to mean 0 and standard deviation 1.

    Source: Wu and He, 2018 (arXiv:1803.08494).

    Raises ValueError if the rank of the inputs or the number of channels is unknown, if the inputs
    do not have one of the axes, if there are reduction axes on both sides of the channels, or if
    the number of channels is not a multiple of `groups`.

    Args:
      groups: the number of groups.
      channels_axis: the axis of the channels.
      reduction_axes: the axes, apart from the channels, that are normalized together. Either all
        these axes precede the channels, or all follow the channels.
      mean_close_to_zero: whether the variance is computed without subtracting the mean first, which
        is exact enough for a mean near 0.
    """
    with variable_scope(scope, "GroupNorm", [inputs], reuse=reuse) as within:
        source = convert_to_tensor(inputs)
        rank = len(_sizes(source))
        axis = channels_axis + rank if channels_axis < 0 else channels_axis
        axes = [value + rank if value < 0 else value for value in reduction_axes]
        if not all(0 <= value < rank for value in [axis, *axes]):
            raise ValueError(f"Axis is out of bounds: {[axis, *axes]} of rank {rank}")
        if axis in axes or len({value > axis for value in axes}) > 1:
            raise ValueError(
                f"reduction_axes must not contain channels_axis, and lie on one side of it: {axes} "
                f"and {axis}"
            )
        channels = _known_channels(source, axis)
        if groups > channels or channels % groups:
            raise ValueError(f"Invalid groups {groups} for {channels} channels.")
        variables = _scale_and_offset(
            [channels], source, {"beta": center, "gamma": scale}, trainable,
            variables_collections, param_initializers,
        )  # fmt: skip
        outputs = _normalize_groups(
            source, axis, axes, groups, epsilon, variables, mean_close_to_zero
        )
        return _finish(outputs, source, activation_fn, outputs_collections, within.name)


def _normalize_groups(
    source: Tensor, axis: int, axes: list[int], groups: int, epsilon: float,
    variables: dict[str, Any], mean_close_to_zero: bool,
) -> Tensor:  # fmt: skip
    sizes = _sizes(source)
    channels = int(sizes[axis] or 0)
    if None in sizes[:axis] or None in sizes[axis + 1 :]:
        whole = shape(source)
        known: list[Any] = [whole[i] if size is None else size for i, size in enumerate(sizes)]
    else:
        known = list(sizes)
    divided = [*known[:axis], groups, channels // groups, *known[axis + 1 :]]
    parts = reshape(source, divided)
    over = [value + (value > axis) for value in axes] + [axis + 1]
    if mean_close_to_zero:
        mean = _mean(parts, over)
        variance = _mean(square(parts), over) - square(mean)
    else:
        mean, variance = moments(parts, over, keepdims=True)
    spread = [1] * len(divided)
    spread[axis : axis + 2] = [groups, channels // groups]
    beta, gamma = (
        None if variables[name] is None else reshape(variables[name], spread)
        for name in ("beta", "gamma")
    )
    return reshape(batch_normalization(parts, mean, variance, beta, gamma, epsilon), known)


def _mean(values: Tensor, axes: list[int]) -> Tensor:
    return moments(values, axes, keepdims=True)[0]


@add_arg_scope
def unit_norm(inputs: Any, dim: int, epsilon: float = 1e-7, scope: str | None = None) -> Tensor:
    """Divide inputs by their length along `dim`: the square root of (epsilon + the sum of the
    squares).

    Raises ValueError for inputs of unknown rank, and for an axis that the inputs do not have.
    """
    with name_scope(scope, "UnitNorm", [inputs]):
        source = convert_to_tensor(inputs)
        rank = source.shape.rank
        if rank is None:
            raise ValueError(f"The input rank must be known: {source}")
        if not 0 <= dim < rank:
            raise ValueError(
                f"dim must be positive but smaller than the input rank, {rank}, but it is {dim}"
            )
        unit: Tensor = source / sqrt(epsilon + reduce_sum(square(source), dim, keepdims=True))
        return unit


@add_arg_scope
def bias_add(
    inputs: Any,
    activation_fn: Any = None,
    initializer: Any = ZEROS,
    regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Tensor:
    """Return activation_fn(inputs + biases), with one bias for each channel.

    Raises ValueError for an unsupported data format, for "NCHW" with inputs that are not images,
    and for inputs of unknown rank or an unknown number of channels.
    """
    _check_format(data_format)
    with variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as within:
        source = convert_to_tensor(inputs)
        rank = source.shape.rank
        if not rank:
            raise ValueError(f"Dims of shape must be known but is {rank}: {source}")
        if data_format == "NCHW" and rank != 4:
            raise ValueError(f"Data format NCHW only supports 4D Tensor, not {source.shape}")
        channels = _sizes(source)[1 if data_format == "NCHW" else -1]
        if channels is None:
            raise ValueError(f"`C` dimension must be known but is None: {source}")
        biases = model_variable(
            "biases",
            shape=[channels],
            dtype=source.dtype.base_dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=collections_of(variables_collections, "biases"),
        )
        outputs = add_bias(source, biases, data_format=data_format)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return collect_outputs(outputs_collections, within.name, outputs)
