"""`tf.keras.layers`: the base class of layers, `Input`, and all classes of layers.

`core_layers` has layers for masks, reshaping, dropout and noise. `merge_layers` has layers with
several inputs.
"""

from gpugraph.library.keras import keras_objects as _keras_objects
from gpugraph.library.keras.engine.input_layer import InputLayer as InputLayer, input_tensor
from gpugraph.library.keras.engine.input_spec import InputSpec as InputSpec
from gpugraph.library.keras.engine.keras_layer import Layer as Layer
from gpugraph.library.keras.layers.activation_layers import (
    ELU as ELU,
    LeakyReLU as LeakyReLU,
    PReLU as PReLU,
    ReLU as ReLU,
    Softmax as Softmax,
    ThresholdedReLU as ThresholdedReLU,
)
from gpugraph.library.keras.layers.attention_layers import (
    AdditiveAttention as AdditiveAttention,
    Attention as Attention,
)
from gpugraph.library.keras.layers.batch_normalization_layer import (
    BatchNormalization as BatchNormalization,
)
from gpugraph.library.keras.layers.convolution_layers import (
    Conv1D as Conv1D,
    Conv2D as Conv2D,
    Conv3D as Conv3D,
)
from gpugraph.library.keras.layers.core_layers import (
    Activation as Activation,
    ActivityRegularization as ActivityRegularization,
    AlphaDropout as AlphaDropout,
    GaussianDropout as GaussianDropout,
    GaussianNoise as GaussianNoise,
    Masking as Masking,
    Permute as Permute,
    RepeatVector as RepeatVector,
    Reshape as Reshape,
)
from gpugraph.library.keras.layers.dense_dropout_flatten import (
    Dense as Dense,
    Dropout as Dropout,
    Flatten as Flatten,
    SpatialDropout1D as SpatialDropout1D,
    SpatialDropout2D as SpatialDropout2D,
    SpatialDropout3D as SpatialDropout3D,
)
from gpugraph.library.keras.layers.embedding_layer import Embedding as Embedding
from gpugraph.library.keras.layers.feature_layers import DenseFeatures as DenseFeatures
from gpugraph.library.keras.layers.global_pooling_layers import (
    GlobalAveragePooling1D as GlobalAveragePooling1D,
    GlobalAveragePooling2D as GlobalAveragePooling2D,
    GlobalAveragePooling3D as GlobalAveragePooling3D,
    GlobalMaxPooling1D as GlobalMaxPooling1D,
    GlobalMaxPooling2D as GlobalMaxPooling2D,
    GlobalMaxPooling3D as GlobalMaxPooling3D,
)
from gpugraph.library.keras.layers.lambda_layer import Lambda as Lambda
from gpugraph.library.keras.layers.layer_normalization import (
    LayerNormalization as LayerNormalization,
)
from gpugraph.library.keras.layers.locally_connected_layers import (
    LocallyConnected1D as LocallyConnected1D,
    LocallyConnected2D as LocallyConnected2D,
)
from gpugraph.library.keras.layers.merge_layers import (
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
from gpugraph.library.keras.layers.pooling_layers import (
    AveragePooling1D as AveragePooling1D,
    AveragePooling2D as AveragePooling2D,
    AveragePooling3D as AveragePooling3D,
    MaxPooling1D as MaxPooling1D,
    MaxPooling2D as MaxPooling2D,
    MaxPooling3D as MaxPooling3D,
)
from gpugraph.library.keras.layers.recurrent.bidirectional_layer import (
    Bidirectional as Bidirectional,
)
from gpugraph.library.keras.layers.recurrent.convolutional_recurrent_layers import (
    ConvLSTM2D as ConvLSTM2D,
)
from gpugraph.library.keras.layers.recurrent.cudnn_recurrent_layers import (
    CuDNNGRU as CuDNNGRU,
    CuDNNLSTM as CuDNNLSTM,
)
from gpugraph.library.keras.layers.recurrent.layers_of_cells import (
    GRU as GRU,
    LSTM as LSTM,
    SimpleRNN as SimpleRNN,
)
from gpugraph.library.keras.layers.recurrent.recurrent_cells import (
    AbstractRNNCell as AbstractRNNCell,
    GRUCell as GRUCell,
    LSTMCell as LSTMCell,
    SimpleRNNCell as SimpleRNNCell,
)
from gpugraph.library.keras.layers.recurrent.recurrent_layer import RNN as RNN
from gpugraph.library.keras.layers.recurrent.stacked_cells import StackedRNNCells as StackedRNNCells
from gpugraph.library.keras.layers.separable_and_transposed_layers import (
    Conv2DTranspose as Conv2DTranspose,
    Conv3DTranspose as Conv3DTranspose,
    DepthwiseConv2D as DepthwiseConv2D,
    SeparableConv1D as SeparableConv1D,
    SeparableConv2D as SeparableConv2D,
)
from gpugraph.library.keras.layers.space_layers import (
    Cropping1D as Cropping1D,
    Cropping2D as Cropping2D,
    Cropping3D as Cropping3D,
    UpSampling1D as UpSampling1D,
    UpSampling2D as UpSampling2D,
    UpSampling3D as UpSampling3D,
    ZeroPadding1D as ZeroPadding1D,
    ZeroPadding2D as ZeroPadding2D,
    ZeroPadding3D as ZeroPadding3D,
)
from gpugraph.library.keras.layers.wrapper_layers import (
    TimeDistributed as TimeDistributed,
    Wrapper as Wrapper,
)

Input = input_tensor
deserialize = _keras_objects.deserialize_layer
serialize = _keras_objects.serialize_layer
AvgPool1D, AvgPool2D, AvgPool3D = AveragePooling1D, AveragePooling2D, AveragePooling3D
MaxPool1D, MaxPool2D, MaxPool3D = MaxPooling1D, MaxPooling2D, MaxPooling3D
GlobalAvgPool1D, GlobalMaxPool1D = GlobalAveragePooling1D, GlobalMaxPooling1D
GlobalAvgPool2D, GlobalMaxPool2D = GlobalAveragePooling2D, GlobalMaxPooling2D
GlobalAvgPool3D, GlobalMaxPool3D = GlobalAveragePooling3D, GlobalMaxPooling3D
Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
Convolution2DTranspose, Convolution3DTranspose = Conv2DTranspose, Conv3DTranspose
SeparableConvolution1D, SeparableConvolution2D = SeparableConv1D, SeparableConv2D
