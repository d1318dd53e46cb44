"""The import paths of the public modules: `import gpugraph.nn` imports `gpugraph/api/nn.py`.

Modules that are public under another path than their own are entered into `sys.modules`.
"""

from __future__ import annotations

import sys

from gpugraph import (
    config, distributions, keras, layers, lookup, losses, metrics, summary, train,
)
from gpugraph.api import (
    bitwise, compat, contrib, debugging, dtypes, gfile, graph_util, image, initializers, io,
    linalg, manip,
    math, nn, quantization, random, rnn_cell, saved_model, sets, signal, sparse, spectral,
    strings, test,
)
from gpugraph.api.shared import python_io, queue
from gpugraph.base import errors, nest, shapes, version
from gpugraph.ops.framework import kernel_registry, shape_functions
from gpugraph.platform import app, flags, gfile_v2, logging, resource_loader
from gpugraph.session import direct_session

_API = (
    bitwise, compat, contrib, debugging, dtypes, gfile, graph_util, image, initializers, io,
    linalg, manip,
    math, nn, quantization, random, saved_model, sets, signal, sparse, spectral, strings, test,
    contrib.checkpoint, contrib.crf, contrib.distributions, contrib.framework, contrib.layers,
    contrib.legacy_seq2seq, contrib.lookup, contrib.rnn, contrib.seq2seq, contrib.training,
    contrib.util, contrib.slim, contrib.staging,
    saved_model.builder, saved_model.constants, saved_model.loader, saved_model.main_op,
    saved_model.signature_constants, saved_model.signature_def_utils,
    saved_model.tag_constants, saved_model.utils,
)
_SLIM = (contrib.slim.data_decoder, contrib.slim.learning, contrib.slim.model_analyzer,
    contrib.slim.nets, contrib.slim.tfexample_decoder, *(
    getattr(contrib.slim.nets, name) for name in (
        "alexnet", "inception", "inception_v1", "inception_v2", "inception_v3", "overfeat",
        "resnet_utils", "resnet_v1", "resnet_v2", "vgg",
    )
))
PUBLIC_MODULES = {module.__name__.replace(".api.", ".", 1): module for module in _API} | {
    module.__name__.replace(".slim_models.", ".contrib.slim.", 1): module for module in _SLIM
} | {
    f"gpugraph.keras.applications.{name}": module
    for name, module in keras.applications.application_modules.MODULES.items()
} | {
    "gpugraph.app": app,
    "gpugraph.app.flags": flags,
    "gpugraph.config.optimizer": config.optimizer,
    "gpugraph.config.threading": config.threading,
    "gpugraph.compat.v2": compat.v2,
    "gpugraph.compat.v2.nn": compat.v2.nn,
    "gpugraph.errors": errors,
    "gpugraph.flags": flags,
    "gpugraph.io.gfile": gfile_v2,
    "gpugraph.keras.constraints": keras.constraints,
    "gpugraph.keras.experimental": keras.experimental,
    "gpugraph.keras.initializers": keras.initializers,
    "gpugraph.keras.regularizers": keras.regularizers,
    "gpugraph.keras.utils": keras.utils,
    "gpugraph.logging": logging,
    "gpugraph.nest": nest,
    "gpugraph.layers.experimental": layers.experimental,
    "gpugraph.nn.rnn_cell": rnn_cell,
    "gpugraph.ops.kernels": kernel_registry,
    "gpugraph.ops.shape_functions": shape_functions,
    "gpugraph.python_io": python_io,
    "gpugraph.queue": queue,
    "gpugraph.resource_loader": resource_loader,
    "gpugraph.rnn.rnn_cell": rnn_cell,
    "gpugraph.session.direct": direct_session,
    "gpugraph.shapes": shapes,
    "gpugraph.version": version,
}
"""Each public path with its module."""

_PACKAGES = {
    module.__name__: module
    for module in (
        config, config.experimental, distributions, keras, keras.activations, keras.applications,
        keras.backend, keras.callbacks, keras.layers, keras.losses, keras.metrics, keras.models,
        keras.optimizers, keras.optimizers.schedules, layers, lookup, lookup.experimental, losses,
        metrics, summary, train, train.experimental,
    )
}
_OWN = ("ops.", "rnn.", "session.", "shapes")  # TensorFlow has no such modules
TENSORFLOW_MODULES = {
    name: module
    for path, module in (PUBLIC_MODULES | _PACKAGES).items()
    if not (name := path.removeprefix("gpugraph.")).startswith(_OWN)
}
"""Each public module of TensorFlow that is here, by its path below `tensorflow`."""

PUBLIC_MODULES |= {  # `gpugraph.compat.v1` is the whole package
    path.replace("gpugraph.", "gpugraph.compat.v1.", 1): module
    for path, module in (PUBLIC_MODULES | _PACKAGES).items()
}

sys.modules |= PUBLIC_MODULES
