"""Fully connected layers."""

from __future__ import annotations

from functools import partial
from typing import Any

from gpugraph.contrib_layers.layer_collections import collect_outputs, layer_variable
from gpugraph.contrib_layers.xavier_initializers import xavier_initializer
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matmul import matmul, tensordot
from gpugraph.ops.nn.activations.relu_and_elu import relu
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add
from gpugraph.ops.random.variable_initializers import Zeros
from gpugraph.variable_scope import variable_scope
from gpugraph.variable_scope.arg_scope import add_arg_scope

XAVIER = xavier_initializer()
ZEROS = Zeros()
"""Default initializers of weights and biases."""


@add_arg_scope
def fully_connected(
    inputs: Any,
    num_outputs: int,
    activation_fn: Any = relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Tensor:
    """activation_fn(inputs @ weights + biases), along the last axis of inputs [..., units].

    normalizer_fn: `f(outputs, **normalizer_params)`, in place of the biases.
    biases_initializer: None for no biases.
    variables_collections: what `weights` and `biases` join, or a dict of that.

    ValueError unless `num_outputs` is an integer, the inputs have two dimensions or more, and
    the size of the last is known.
    """
    if isinstance(num_outputs, bool) or not isinstance(num_outputs, int):
        raise ValueError(
            f"num_outputs should be an integer, got {num_outputs!r} of type {type(num_outputs)}"
        )
    with variable_scope(scope, "fully_connected", [inputs], reuse=reuse) as within:
        source = convert_to_tensor(inputs)
        width = _last_size(source)
        dtype = source.dtype.base_dtype
        weights = layer_variable(
            "weights", [width, num_outputs], dtype, weights_initializer, weights_regularizer,
            trainable, variables_collections, "kernel",
        )  # fmt: skip
        biases = None
        if normalizer_fn is None and biases_initializer is not None:
            biases = layer_variable(
                "biases", [num_outputs], dtype, biases_initializer, biases_regularizer,
                trainable, variables_collections, "bias",
            )  # fmt: skip
        if source.shape.rank == 2:
            outputs = matmul(source, weights)
        else:
            outputs = tensordot(source, weights, [[int(source.shape.rank or 0) - 1], [0]])
            outputs.set_shape([*source.shape.as_list()[:-1], num_outputs])
        if biases is not None:
            outputs = bias_add(outputs, biases)
        outputs = finish(outputs, normalizer_fn, normalizer_params, activation_fn)
        return collect_outputs(outputs_collections, within.original_name_scope, outputs)


linear = partial(fully_connected, activation_fn=None)


def _last_size(inputs: Tensor) -> int:
    sizes = inputs.shape.sizes
    if sizes is None or len(sizes) < 2:
        raise ValueError(
            f"The inputs must have at least 2 dimensions, but are {inputs.shape}: {inputs}"
        )
    if sizes[-1] is None:
        raise ValueError(
            f"The last dimension of the inputs should be defined, but they are {inputs.shape}: "
            f"{inputs}"
        )
    return int(sizes[-1])


def finish(
    outputs: Tensor, normalizer_fn: Any, normalizer_params: Any, activation_fn: Any
) -> Tensor:
    """The end of a layer: normalization, then activation."""
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return outputs
