"""`tf.keras.layers`: the base of layers, inputs, and classes of layers.

`core_layers` has layers around others, `merge_layers` those of several inputs.
"""

from gpugraph.keras.engine.input_layer import InputLayer as InputLayer, input_tensor
from gpugraph.keras.engine.input_spec import InputSpec as InputSpec
from gpugraph.keras.engine.keras_layer import Layer as Layer
from gpugraph.keras.layers.batch_normalization_layer import BatchNormalization as BatchNormalization
from gpugraph.keras.layers.convolution_layers import (
    Conv1D as Conv1D,
    Conv2D as Conv2D,
    Conv3D as Conv3D,
)
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
from gpugraph.keras.layers.dense_dropout_flatten import (
    Dense as Dense,
    Dropout as Dropout,
    Flatten as Flatten,
    SpatialDropout1D as SpatialDropout1D,
    SpatialDropout2D as SpatialDropout2D,
    SpatialDropout3D as SpatialDropout3D,
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
from gpugraph.keras.layers.pooling_layers import (
    AveragePooling1D as AveragePooling1D,
    AveragePooling2D as AveragePooling2D,
    AveragePooling3D as AveragePooling3D,
    MaxPooling1D as MaxPooling1D,
    MaxPooling2D as MaxPooling2D,
    MaxPooling3D as MaxPooling3D,
)
from gpugraph.keras.layers.recurrent.bidirectional_layer import Bidirectional as Bidirectional
from gpugraph.keras.layers.recurrent.convolutional_recurrent_layers import ConvLSTM2D as ConvLSTM2D
from gpugraph.keras.layers.recurrent.cudnn_recurrent_layers import (
    CuDNNGRU as CuDNNGRU,
    CuDNNLSTM as CuDNNLSTM,
)
from gpugraph.keras.layers.recurrent.layers_of_cells import (
    GRU as GRU,
    LSTM as LSTM,
    SimpleRNN as SimpleRNN,
)
from gpugraph.keras.layers.recurrent.recurrent_cells import (
    AbstractRNNCell as AbstractRNNCell,
    GRUCell as GRUCell,
    LSTMCell as LSTMCell,
    SimpleRNNCell as SimpleRNNCell,
)
from gpugraph.keras.layers.recurrent.recurrent_layer import RNN as RNN
from gpugraph.keras.layers.recurrent.stacked_cells import StackedRNNCells as StackedRNNCells
from gpugraph.keras.layers.separable_and_transposed_layers import (
    Conv2DTranspose as Conv2DTranspose,
    Conv3DTranspose as Conv3DTranspose,
    SeparableConv1D as SeparableConv1D,
    SeparableConv2D as SeparableConv2D,
)
from gpugraph.keras.layers.wrapper_layers import (
    TimeDistributed as TimeDistributed,
    Wrapper as Wrapper,
)

Input = input_tensor
