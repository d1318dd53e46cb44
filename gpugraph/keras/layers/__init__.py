"""`tf.keras.layers`: the base of layers, inputs, and classes of layers.

`core_layers` has layers around others, `merge_layers` those of several inputs.
"""

from gpugraph.keras.engine.input_layer import InputLayer as InputLayer, input_tensor
from gpugraph.keras.engine.input_spec import InputSpec as InputSpec
from gpugraph.keras.engine.keras_layer import Layer as Layer
from gpugraph.keras.layers.core_layers import (
    Activation as Activation,
    ActivityRegularization as ActivityRegularization,
    GaussianDropout as GaussianDropout,
    GaussianNoise as GaussianNoise,
    Masking as Masking,
    Permute as Permute,
    RepeatVector as RepeatVector,
    Reshape as Reshape,
)
from gpugraph.keras.layers.lambda_layer import Lambda as Lambda
from gpugraph.keras.layers.merge_layers import (
    Add as Add,
    Average as Average,
    Concatenate as Concatenate,
    Dot as Dot,
    Maximum as Maximum,
    Minimum as Minimum,
    Multiply as Multiply,
    Subtract as Subtract,
    add as add,
    average as average,
    concatenate as concatenate,
    dot as dot,
    maximum as maximum,
    minimum as minimum,
    multiply as multiply,
    subtract as subtract,
)

Input = input_tensor
