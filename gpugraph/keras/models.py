"""`tf.keras.models`: networks of layers."""

from gpugraph.keras.engine.keras_objects import LAYER_CLASSES
from gpugraph.keras.engine.model import Model as Model
from gpugraph.keras.engine.sequential import Sequential as Sequential
from gpugraph.keras.layers import InputLayer

LAYER_CLASSES.update(InputLayer=InputLayer, Model=Model, Sequential=Sequential)
