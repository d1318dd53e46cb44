"""`tf.keras.models`: networks of layers."""

from gpugraph.keras import layers
from gpugraph.keras.engine.keras_layer import Layer
from gpugraph.keras.engine.model import Model as Model
from gpugraph.keras.engine.sequential import Sequential as Sequential
from gpugraph.keras.keras_objects import LAYER_CLASSES

_CLASSES = [value for value in vars(layers).values() if isinstance(value, type)]
LAYER_CLASSES.update({kind.__name__: kind for kind in _CLASSES if issubclass(kind, Layer)})
LAYER_CLASSES.update(Model=Model, Sequential=Sequential)
