"""Faces by the paths that programs import: `import gpugraph.nn` is `gpugraph/api/nn.py`.

Also what moved from the package's top to rooms of its own, and the paths that the README named.
"""

from __future__ import annotations

import sys

from gpugraph.api import (
    bitwise,
    compat,
    contrib,
    debugging,
    dtypes,
    gfile,
    image,
    initializers,
    io,
    linalg,
    manip,
    math,
    nn,
    quantization,
    random,
    rnn_cell,
    sets,
    signal,
    sparse,
    spectral,
    strings,
    test,
)
from gpugraph.base import errors, nest, shapes, version
from gpugraph.ops.framework import kernel_registry, shape_functions
from gpugraph.platform import app, flags, logging
from gpugraph.session import direct_session

__all__: list[str] = []

_FACES = (
    bitwise,
    compat,
    contrib,
    debugging,
    dtypes,
    gfile,
    image,
    initializers,
    io,
    linalg,
    manip,
    math,
    nn,
    quantization,
    random,
    rnn_cell,
    sets,
    signal,
    sparse,
    spectral,
    strings,
    test,
    contrib.framework,
    contrib.layers,
    contrib.slim,
)
for _face in _FACES:
    sys.modules[_face.__name__.replace(".api.", ".", 1)] = _face
sys.modules |= {
    "gpugraph.app": app,
    "gpugraph.errors": errors,
    "gpugraph.flags": flags,
    "gpugraph.logging": logging,
    "gpugraph.nest": nest,
    "gpugraph.shapes": shapes,
    "gpugraph.version": version,
    "gpugraph.ops.kernels": kernel_registry,
    "gpugraph.ops.shape_functions": shape_functions,
    "gpugraph.session.direct": direct_session,
}
