"""`tf.keras`: its backend, the graph of layers, and networks of layers.

`engine` has layers, nodes and networks, `backend` what they are written in, `layers` the names of
`tf.keras.layers`. Training, files and many classes of layers are not there yet.
"""

from gpugraph.keras import (
    activations as activations,
    backend as backend,
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
)
from gpugraph.keras.engine.input_layer import input_tensor
from gpugraph.keras.engine.model import Model as Model
from gpugraph.keras.engine.sequential import Sequential as Sequential

Input = input_tensor
constraints = keras_constraints
experimental = keras_experimental
initializers = keras_initializers
regularizers = keras_regularizers
utils = keras_utils
