"""`tf.keras.layers`: the base of layers, and inputs."""

from gpugraph.keras.engine.input_layer import InputLayer as InputLayer, input_tensor
from gpugraph.keras.engine.input_spec import InputSpec as InputSpec
from gpugraph.keras.engine.keras_layer import Layer as Layer

Input = input_tensor
