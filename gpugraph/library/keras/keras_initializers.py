"""`tf.keras.initializers`: initializers, which compute initial values of variables, by class and
name.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import float32
from gpugraph.library.keras.keras_objects import deserialize_keras_object, serialize_keras_object
from gpugraph.ops.random import variable_initializers
from gpugraph.ops.random.variable_initializers import (
    Constant as Constant,
    Identity as Identity,
    Initializer as Initializer,
    Ones as Ones,
    Orthogonal as Orthogonal,
    VarianceScaling as VarianceScaling,
    Zeros as Zeros,
    he_normal as he_normal,
    he_uniform as he_uniform,
    lecun_normal as lecun_normal,
    lecun_uniform as lecun_uniform,
)


class RandomUniform(variable_initializers.RandomUniform):
    """An initializer that draws uniformly distributed numbers in [minval, maxval)."""

    def __init__(
        self, minval: Any = -0.05, maxval: Any = 0.05, seed: int | None = None, dtype: Any = float32
    ) -> None:
        super().__init__(minval, maxval, seed, dtype)


class RandomNormal(variable_initializers.RandomNormal):
    """An initializer that draws normally distributed numbers with mean `mean` and standard
    deviation `stddev`.
    """

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None, dtype: Any = float32
    ) -> None:
        super().__init__(mean, stddev, seed, dtype)


class TruncatedNormal(variable_initializers.TruncatedNormal):
    """An initializer that draws normally distributed numbers.

    A number beyond two standard deviations from the mean is drawn again.
    """

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None, dtype: Any = float32
    ) -> None:
        super().__init__(mean, stddev, seed, dtype)


glorot_normal, glorot_uniform = (
    variable_initializers.GlorotNormal,
    variable_initializers.GlorotUniform,
)
zeros, ones, constant, identity, orthogonal = Zeros, Ones, Constant, Identity, Orthogonal
uniform = random_uniform = RandomUniform
normal = random_normal = RandomNormal
truncated_normal = TruncatedNormal

_INITIALIZERS: dict[str, Any] = {
    **{
        kind.__name__: kind
        for kind in (
            *(Constant, Identity, Initializer, Ones, Orthogonal, VarianceScaling, Zeros),
            *(RandomUniform, RandomNormal, TruncatedNormal, glorot_normal, glorot_uniform),
        )
    },
    "glorot_normal": glorot_normal,
    "glorot_uniform": glorot_uniform,
    "he_normal": he_normal,
    "he_uniform": he_uniform,
    "lecun_normal": lecun_normal,
    "lecun_uniform": lecun_uniform,
    "zero": Zeros,
    "zeros": Zeros,
    "one": Ones,
    "ones": Ones,
    "constant": Constant,
    "identity": Identity,
    "orthogonal": Orthogonal,
    "uniform": RandomUniform,
    "random_uniform": RandomUniform,
    "normal": RandomNormal,
    "random_normal": RandomNormal,
    "truncated_normal": TruncatedNormal,
}


def serialize(initializer: Any) -> Any:
    """Return the name of a function, or the class name and configuration of an initializer."""
    return serialize_keras_object(initializer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Return the initializer that a name or a configuration describes.

    Raises ValueError for an unknown name.
    """
    initializer = deserialize_keras_object(config, _INITIALIZERS, custom_objects, "initializer")
    makers = (he_normal, he_uniform, lecun_normal, lecun_uniform)
    return initializer() if any(initializer is maker for maker in makers) else initializer


def get(identifier: Any) -> Any:
    """Return the initializer that a name or a configuration describes. For an initializer class,
    return a new object.

    None and other callables are returned unchanged. Raises ValueError for anything else.
    """
    if identifier is None:
        return None
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier() if isinstance(identifier, type) else identifier
    raise ValueError(f"Could not interpret initializer identifier: {identifier!r}")
