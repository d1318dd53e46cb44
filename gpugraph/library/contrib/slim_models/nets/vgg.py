"""The VGG networks: Simonyan and Zisserman, 2014 (arXiv:1409.1556)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.building.variable_scope.arg_scope import Scope
from gpugraph.library.contrib.slim_models.nets.fully_convolutional import (
    classifier,
    convolution_arg_scope,
)

_FILTERS = (64, 128, 256, 512, 512)


def vgg_arg_scope(weight_decay: float = 0.0005) -> Scope:
    """Return the default arguments of the layers of VGG networks, for `arg_scope`."""
    return convolution_arg_scope(weight_decay, 0.0)


def _vgg(name: str, repetitions: tuple[int, ...]) -> Callable[..., Any]:
    """Return the function that builds a VGG network.

    Args:
      repetitions: the number of convolutions before each pooling layer.
    """
    rows = "\n".join(
        "\n".join(f"conv{stage}/conv{stage}_{n} {filters} 3x3" for n in range(1, count + 1))
        + f"\npool{stage} max 2x2"
        for stage, (filters, count) in enumerate(zip(_FILTERS, repetitions), 1)
    )

    return classifier(name, rows, ((4096, 7), (4096, 1)), 224)


vgg_a = _vgg("vgg_a", (1, 1, 2, 2, 2))
vgg_16 = vgg_d = _vgg("vgg_16", (2, 2, 3, 3, 3))
vgg_19 = vgg_e = _vgg("vgg_19", (2, 2, 4, 4, 4))
