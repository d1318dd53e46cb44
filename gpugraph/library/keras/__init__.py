"""`tf.keras`: its backend, the graph of layers, and networks of layers.

`engine` has layers, nodes and networks. `backend` has the functions with which layers and models
are written, and `layers` has the classes of `tf.keras.layers`. `training` has `Model` and
`Sequential`, which are trained with `losses`, `metrics`, `optimizers` and `callbacks`. `inputs` has
the threads and processes that prepare batches in advance.
"""

from gpugraph.base.version import KERAS_VERSION
from gpugraph.library.keras import (
    activations as activations,
    applications as applications,
    backend as backend,
    callbacks as callbacks,
    datasets as datasets,
    keras_constraints,
    keras_experimental,
    keras_initializers,
    keras_regularizers,
    keras_utils,
    layers as layers,
    losses as losses,
    metrics as metrics,
    models as models,
    optimizers as optimizers,
    preprocessing as preprocessing,
)
from gpugraph.library.keras.engine.input_layer import input_tensor
from gpugraph.library.keras.training.model import Model as Model
from gpugraph.library.keras.training.sequential import Sequential as Sequential

Input = input_tensor
constraints = keras_constraints
experimental = keras_experimental
initializers = keras_initializers
regularizers = keras_regularizers
utils = keras_utils
__version__ = KERAS_VERSION
