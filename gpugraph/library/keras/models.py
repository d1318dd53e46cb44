"""`tf.keras.models`: networks of layers, and functions that copy, read and write them."""

from gpugraph.library.keras import keras_experimental, layers
from gpugraph.library.keras.engine.keras_layer import Layer
from gpugraph.library.keras.keras_objects import LAYER_CLASSES
from gpugraph.library.keras.model_cloning import clone_model as clone_model
from gpugraph.library.keras.saving.model_files import (
    load_model as load_model,
    save_model as save_model,
)
from gpugraph.library.keras.saving.model_json import (
    model_from_config as model_from_config,
    model_from_json as model_from_json,
    model_from_yaml as model_from_yaml,
)
from gpugraph.library.keras.training.model import Model as Model
from gpugraph.library.keras.training.sequential import Sequential as Sequential

_NAMES = {**vars(keras_experimental), **vars(layers)}
_CLASSES = [value for value in _NAMES.values() if isinstance(value, type)]
LAYER_CLASSES.update({kind.__name__: kind for kind in _CLASSES if issubclass(kind, Layer)})
LAYER_CLASSES.update(
    Model=Model,
    Sequential=Sequential,
    BatchNormalizationV1=layers.BatchNormalization,
    BatchNormalizationV2=layers.BatchNormalization,
)
