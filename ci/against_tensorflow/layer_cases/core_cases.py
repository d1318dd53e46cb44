"""Cases of dense layers, activations, normalization, embeddings, merges, attention and noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from layer_cases import IMAGES, PENALTIES, SEQUENCE, Case, Options, masked, rows

ROWS = (3, 4)
PAIR = [SEQUENCE, SEQUENCE]
ATTENDED = [(2, 3, 4), (2, 5, 4)]
MERGES = "Add Multiply Average Maximum Minimum Concatenate"
FUNCTIONS = ("add", "subtract", "multiply", "average", "maximum", "minimum", "concatenate")
ACTIVATIONS = "relu elu selu softplus softsign tanh sigmoid hard_sigmoid exponential linear softmax"
NOISE: list[tuple[str, Any, Options]] = [
    ("Dropout", (9, 80, 40), {"rate": 0.25}),
    ("Dropout", (300, 4, 200), {"rate": 0.5, "noise_shape": (300, 1, 200)}),
    ("AlphaDropout", (9, 80, 40), {"rate": 0.25}),
    ("SpatialDropout1D", (90, 3, 200), {"rate": 0.5}),
    ("SpatialDropout2D", (90, 2, 3, 200), {"rate": 0.5}),
    ("SpatialDropout2D", (90, 200, 2, 3), {"rate": 0.5, "data_format": "channels_first"}),
    ("SpatialDropout3D", (90, 2, 2, 2, 200), {"rate": 0.5}),
    ("GaussianNoise", (9, 80, 40), {"stddev": 0.5}),
    ("GaussianDropout", (90, 80, 40), {"rate": 0.25}),
]


def ids(layers: Any) -> Any:
    """Return a layer that makes numbers from 0 to 4 of inputs."""
    return layers.Lambda(lambda t: t * t * 5)


def twice(layers: Any, base: str = "Layer") -> Any:
    """Return a class of a program, of a base that computes nothing."""

    class Twice(getattr(layers, base)):  # type: ignore[misc]
        """Doubles the result of the wrapped layer, or the inputs."""

        def call(self, inputs: Any) -> Any:
            """Return the doubled values."""
            return 2 * (self.layer(inputs) if base == "Wrapper" else inputs)

        def compute_output_shape(self, input_shape: Any) -> Any:
            """Return the shape of the inputs."""
            return input_shape

    return Twice


def attended(name: str, **options: Any) -> Callable[[Any], Any]:
    """Attention to a sequence whose end is masked, from one that is masked too."""

    def make(layers: Any) -> Any:
        attention = getattr(layers, name)(**options)
        return lambda x: attention([layers.Masking()(tensor) for tensor in x])

    return make


CASES: dict[str, Case] = {
    **rows("Dense", ROWS, {"units": 3}, [{}, {"use_bias": False, "activation": "elu"}, PENALTIES]),
    **rows("Dense", IMAGES, {"units": 3}, [{"kernel_constraint": "UnitNorm"}]),
    **rows("Activation", SEQUENCE, {}, [{"activation": name} for name in ACTIVATIONS.split()]),
    **rows("ActivityRegularization", SEQUENCE, {}, [{}, {"l1": 0.25, "l2": 0.5}]),
    **rows("Flatten", IMAGES, {}, [{}, {"data_format": "channels_first"}]),
    **rows("Reshape", IMAGES, {}, [{"target_shape": s} for s in ((6, 21), (-1,), (3, -1, 2))]),
    **rows("Permute", IMAGES, {}, [{"dims": (3, 1, 2)}, {"dims": [1, 2, 3]}]),
    **rows("RepeatVector", ROWS, {}, [{"n": 3}]),
    **rows("Masking", SEQUENCE, {}, [{}, {"mask_value": 1.0}]),
    **rows("LeakyReLU", SEQUENCE, {}, [{}, {"alpha": 0.1}]),
    **rows("ELU", SEQUENCE, {}, [{}, {"alpha": 0.5}]),
    **rows("ThresholdedReLU", SEQUENCE, {}, [{}, {"theta": 0.25}]),
    **rows("Softmax", SEQUENCE, {}, [{}, {"axis": 1}]),
    **rows(
        "ReLU",
        SEQUENCE,
        {},
        [{}, {"max_value": 0.5}, {"max_value": 0.75, "negative_slope": 0.5, "threshold": 0.25}],
    ),
    **rows(
        "PReLU",
        IMAGES,
        {},
        [{}, {"shared_axes": [1, 2]}, {"alpha_regularizer": "l2", "alpha_constraint": "NonNeg"}],
    ),
    **rows(
        "LayerNormalization",
        SEQUENCE,
        {},
        [{}, {"axis": 1}, {"axis": [1, 2], "epsilon": 0.01}, {"center": False}, {"scale": False},
         {"gamma_regularizer": "l2", "beta_constraint": "NonNeg"}],
    ),
    **rows(
        "BatchNormalization",
        IMAGES,
        {},
        variants := [
            {}, {"axis": 1}, {"center": False, "momentum": 0.5}, {"scale": False, "epsilon": 0.1},
            {"fused": False}, {"gamma_regularizer": "l2", "beta_constraint": "NonNeg"},
        ],
    ),
    **rows("BatchNormalization", IMAGES, {}, variants, training=True),
    **rows("BatchNormalization", SEQUENCE, {}, [{}, {"axis": 1}], training=True),
    **rows("BatchNormalization", ROWS, {}, [{}, {"trainable": False}], training=True),
    **rows(f"{MERGES} Subtract", PAIR, {}, [{}]),
    **rows(MERGES, PAIR * 2, {}, [{}]),
    **rows("Add Multiply Maximum", [SEQUENCE, (3, 1, 4), (3, 4)], {}, [{}]),
    **rows("Concatenate", [IMAGES, (2, 7, 6, 2)], {}, [{}]),
    **rows("Concatenate", [IMAGES, (2, 4, 6, 3)], {}, [{"axis": 1}]),
    **rows("Dot", [ROWS, ROWS], {}, [{"axes": 1}, {"axes": -1, "normalize": True}]),
    **rows("Dot", [(2, 3, 4), (2, 4, 5)], {}, [{"axes": (2, 1)}]),
    **rows("Dot", [SEQUENCE, SEQUENCE], {}, [{"axes": 1}, {"axes": (2, 2)}, {"axes": [1, 1]}]),
    **rows("Attention", ATTENDED, {}, [{}, {"use_scale": True}]),
    **rows("Attention", [(2, 4, 3)] * 3, {}, [{"causal": True}]),
    **rows("AdditiveAttention", ATTENDED, {}, [{}, {"use_scale": False}]),
    **rows("AdditiveAttention", [(2, 4, 3)] * 3, {}, [{"causal": True}]),
    "Attention masked": (attended("Attention"), ATTENDED),
    "AdditiveAttention masked": (attended("AdditiveAttention"), ATTENDED),
    "Layer": (lambda L: twice(L)(), SEQUENCE),
    "Wrapper": (lambda L: twice(L, "Wrapper")(L.Dense(4)), SEQUENCE),
    "Lambda": (lambda L: L.Lambda(lambda t: t * t + 1), SEQUENCE),
    "Lambda arguments": (
        lambda L: L.Lambda(lambda t, by, mask=None: t * by, arguments={"by": 3}),
        SEQUENCE,
    ),
    "Masking before Dense": (lambda L: masked(L, L.Dense(3)), SEQUENCE),
    "Masking before pooling": (lambda L: masked(L, L.GlobalAveragePooling1D()), SEQUENCE),
    "Masking before Concatenate": (
        lambda L: lambda x: L.LSTM(2)(L.Concatenate()([L.Masking()(tensor) for tensor in x])),
        PAIR,
    ),
    "Masking before Add": (
        lambda L: lambda x: L.LSTM(2)(L.Add()([L.Masking()(tensor) for tensor in x])),
        PAIR,
    ),
    "InputLayer": (lambda L: lambda x: L.Dense(2)(L.InputLayer(input_tensor=x).output), ROWS),
    "Embedding": (lambda L: lambda x: L.Embedding(5, 3)(ids(L)(x)), ROWS),
    "Embedding options": (
        lambda L: lambda x: L.Embedding(
            5, 3, input_length=4, embeddings_regularizer="l2", embeddings_constraint="NonNeg"
        )(ids(L)(x)),
        ROWS,
    ),
    "Embedding masked": (
        lambda L: lambda x: L.GRU(2)(L.Embedding(5, 3, mask_zero=True)(ids(L)(x))),
        ROWS,
    ),
    **rows("Dropout", SEQUENCE, {"rate": 0.25, "seed": 3}, [{}], training=True),
    **rows("AlphaDropout", SEQUENCE, {"rate": 0.25, "seed": 3}, [{}], training=True),
    **{
        name: (lambda L, name=name: lambda x: getattr(L, name)(x), PAIR)
        for name in FUNCTIONS
    },
    "dot": (lambda L: lambda x: L.dot(x, axes=-1), [ROWS, ROWS]),
}  # fmt: skip

for layer, shape, options in NOISE:
    CASES |= rows(layer, shape, {}, [options])
    noisy = rows(layer, shape, {}, [options], training=True)
    CASES |= {f"random {name}": case for name, case in noisy.items()}
