"""OverFeat: Sermanet et al., 2013 (arXiv:1312.6229)."""

from __future__ import annotations

from gpugraph.building.variable_scope.arg_scope import Scope
from gpugraph.library.contrib.slim_models.nets.fully_convolutional import (
    classifier,
    convolution_arg_scope,
)

_ROWS = """
conv1 64 11x11 /4 VALID
pool1 max 2x2
conv2 256 5x5 VALID
pool2 max 2x2
conv3 512 3x3
conv4 1024 3x3
conv5 1024 3x3
pool5 max 2x2
"""


def overfeat_arg_scope(weight_decay: float = 0.0005) -> Scope:
    """Return the default arguments of the layers of `overfeat`, for `arg_scope`."""
    return convolution_arg_scope(weight_decay, 0.0, padding="VALID")


overfeat = classifier("overfeat", _ROWS, ((3072, 6), (4096, 1)), 231, drawn=0.005)
