"""The arguments that all layers with weights share, and a function that applies a layer of
`tf.layers`, given these arguments.

The decorator `with_options` adds these arguments to a function. `apply_layer` applies a layer of
`tf.layers`, and gives its variables the names that `tf.contrib.layers` uses.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any, NamedTuple

from gpugraph.base.named_function import named, with_signature
from gpugraph.building.variable_scope import variable_scope
from gpugraph.building.variable_scope.arg_scope import add_arg_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.layers.layer_collections import collect_outputs, collect_variable
from gpugraph.library.contrib.layers.model_variables import model_variable
from gpugraph.library.contrib.layers.xavier_initializers import xavier_initializer
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.activations.relu_and_elu import relu
from gpugraph.ops.random.variable_initializers import Zeros

XAVIER = xavier_initializer()
ZEROS = Zeros()
"""The default initializers: zeros for biases, and Xavier's for weights."""


class LayerOptions(NamedTuple):
    """The arguments that all layers with weights have.

    Args:
      normalizer_fn: a function that is called as `f(outputs, **normalizer_params)`. The
        normalization replaces the biases.
      biases_initializer: the initializer of the biases. If `biases_initializer` is None, there are
        no biases.
      pointwise_initializer: the initializer of a separable convolution's pointwise weights. By
        default, the pointwise weights use the initializer of the depthwise weights.
      variables_collections: the collections of the variables, or a dict from `weights` and `biases`
        to collections.
    """

    activation_fn: Any = relu
    normalizer_fn: Any = None
    normalizer_params: Any = None
    weights_initializer: Any = XAVIER
    pointwise_initializer: Any = None
    weights_regularizer: Any = None
    biases_initializer: Any = ZEROS
    biases_regularizer: Any = None
    reuse: Any = None
    variables_collections: Any = None
    outputs_collections: Any = None
    trainable: bool = True
    scope: Any = None

    @property
    def use_bias(self) -> bool:
        """Whether the layer has biases."""
        return self.normalizer_fn is None and self.biases_initializer is not None

    def of_weights(self, *kernels: str) -> dict[str, Any]:
        """Return the arguments for the constructor of a layer of `tf.layers`: initializers and
        regularizers.

        Args:
          kernels: the names of the layer's weights.
        """
        arguments: dict[str, Any] = {
            "use_bias": self.use_bias,
            "bias_initializer": self.biases_initializer,
            "bias_regularizer": self.biases_regularizer,
        }
        for kernel in kernels:
            arguments[f"{kernel}_initializer"] = self.weights_initializer
            arguments[f"{kernel}_regularizer"] = self.weights_regularizer
        return arguments


def with_options(*, pointwise: bool = False) -> Callable[[Callable[..., Tensor]], Any]:
    """Return a decorator that replaces the parameter `options` by parameters for the fields of
    `LayerOptions`.

    The new function packs these arguments into `options` and calls the original function.
    `arg_scope` may set their defaults.

    Args:
      pointwise: whether `pointwise_initializer` is one of the parameters.
    """
    names = [name for name in LayerOptions._fields if pointwise or name != "pointwise_initializer"]
    shared = [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=LayerOptions._field_defaults[name])
        for name in names
    ]

    def decorate(function: Callable[..., Tensor]) -> Any:
        parameters: list[Parameter] = []
        for parameter in inspect.signature(function).parameters.values():
            parameters.extend(shared if parameter.name == "options" else [parameter])

        @add_arg_scope
        @with_signature(inspect.Signature(parameters))
        @named(function.__name__, function.__doc__ or "")
        def layer(**arguments: Any) -> Tensor:
            options = LayerOptions(**{name: arguments.pop(name) for name in names})
            return function(**arguments, options=options)

        layer.__module__ = function.__module__
        return layer

    return decorate


def model_variable_getter(renames: Mapping[str, str]) -> Callable[..., Any]:
    """Return a custom getter that adds variables to the model variables, and renames them.

    Args:
      renames: a dict from the last component of a variable's name to the component that replaces
        it.
    """

    def get(getter: Callable[..., Any], name: str, **kwargs: Any) -> Any:
        for unsupported in ("reuse", "constraint", "validate_shape"):
            kwargs.pop(unsupported, None)
        *scopes, last = name.split("/")
        full_name = "/".join([*scopes, renames.get(last, last)])
        return model_variable(full_name, custom_getter=getter, **kwargs)

    return get


def apply_layer(
    layer_class: Callable[..., Any],
    inputs: Any,
    default_scope: str,
    options: LayerOptions,
    renames: Mapping[str, str],
    **arguments: Any,
) -> Tensor:
    """Apply a layer of `tf.layers` in a new variable scope, then normalization and activation.

    Args:
      renames: a dict from the names of variables in `tf.layers` to their names in
        `tf.contrib.layers`.
      arguments: the arguments of the constructor of `layer_class`.
    """
    with variable_scope(
        options.scope, default_scope, [inputs], reuse=options.reuse,
        custom_getter=model_variable_getter(renames),
    ) as within:  # fmt: skip
        source = convert_to_tensor(inputs)
        layer = layer_class(
            **arguments, trainable=options.trainable, name=within.name,
            dtype=source.dtype.base_dtype, _scope=within, _reuse=options.reuse,
        )  # fmt: skip
        outputs = layer.apply(source)
        for attribute, name in renames.items():
            collect_variable(getattr(layer, attribute), options.variables_collections, name)
        return finish(outputs, options, within.name)


def finish(outputs: Tensor, options: LayerOptions, alias: str) -> Tensor:
    """Apply normalization, then activation.

    Add the result to the output collections under `alias`, and return it.
    """
    if options.normalizer_fn is not None:
        outputs = options.normalizer_fn(outputs, **(options.normalizer_params or {}))
    if options.activation_fn is not None:
        outputs = options.activation_fn(outputs)
    return collect_outputs(options.outputs_collections, alias, outputs)
