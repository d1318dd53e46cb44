"""Cases of Keras's layers, by subject; see keras_layers.py.

A case is a function of `tf.keras.layers` that gives a layer, or a function of inputs, and the shape
of its inputs, or a list of shapes. `rows` makes cases of tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Case = tuple[Callable[[Any], Any], Any]
Options = dict[str, Any]

SEQUENCE = (3, 6, 4)
IMAGES = (2, 7, 6, 3)
VOLUMES = (2, 5, 6, 4, 3)

PENALTIES: Options = {
    "kernel_regularizer": {"class_name": "L1L2", "config": {"l1": 0.5, "l2": 0.25}},
    "bias_constraint": "NonNeg",
    "activity_regularizer": {"class_name": "L1L2", "config": {"l1": 0.25, "l2": 0.5}},
}


def rows(
    names: str, shapes: Any, always: Options, variants: Iterable[Options], **call: Any
) -> dict[str, Case]:
    """Return cases of the classes of a text, with some arguments always and others alternately.

    `call` are arguments of the call. A case is named after the class and the varying arguments.
    """

    def maker(name: str, options: Options) -> Callable[[Any], Any]:
        def make(layers: Any) -> Any:
            layer = getattr(layers, name)(**always, **options)
            return (lambda x: layer(x, **call)) if call else layer

        return make

    def title(options: Options) -> str:
        return " ".join(f"{key}={value}" for key, value in {**options, **call}.items())[:60]

    return {
        f"{name} {title(options)}".strip(): (maker(name, options), shapes)
        for name in names.split()
        for options in variants
    }


def masked(layers: Any, layer: Any) -> Callable[[Any], Any]:
    """Return a layer behind one that masks zeros."""
    return lambda x: layer(layers.Masking()(x))
