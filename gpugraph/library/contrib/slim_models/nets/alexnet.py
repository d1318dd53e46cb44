"""AlexNet, the second version: Krizhevsky, 2014 (arXiv:1404.5997)."""

from __future__ import annotations

from gpugraph.building.variable_scope.arg_scope import Scope
from gpugraph.library.contrib.slim_models.nets.fully_convolutional import (
    classifier,
    convolution_arg_scope,
)

_ROWS = """
conv1 64 11x11 /4 VALID
pool1 max 3x3 /2
conv2 192 5x5
pool2 max 3x3 /2
conv3 384 3x3
conv4 384 3x3
conv5 256 3x3
pool5 max 3x3 /2
"""


def alexnet_v2_arg_scope(weight_decay: float = 0.0005) -> Scope:
    """Return the default arguments of the layers of `alexnet_v2`, for `arg_scope`."""
    return convolution_arg_scope(weight_decay, 0.1, padding="VALID")


alexnet_v2 = classifier("alexnet_v2", _ROWS, ((4096, 5), (4096, 1)), 224, drawn=0.005)
