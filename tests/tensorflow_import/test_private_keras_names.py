"""Helpers of `tensorflow.python.keras.utils`, by the paths that programs import."""

from __future__ import annotations

import pytest

import gpugraph as tf

with tf.as_tensorflow():
    from tensorflow.python.keras.utils import conv_utils, generic_utils, layer_utils, tf_utils


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize(("window", "stride", "dilation"), [(3, 1, 1), (3, 2, 1), (2, 1, 3)])
def test_the_length_of_a_convolution_is_that_of_the_op(padding, window, stride, dilation):
    with tf.Graph().as_default():
        y = tf.keras.layers.Conv1D(1, window, stride, padding, dilation_rate=dilation)(
            tf.zeros([1, 11, 1])
        )
        size = conv_utils.conv_output_length(11, window, padding, stride, dilation)
        assert y.shape[1] == size
    assert conv_utils.conv_output_length(None, window, padding, stride) is None


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize(("window", "stride"), [(3, 1), (3, 2), (2, 4)])
def test_the_length_of_a_transposed_convolution_is_that_of_the_layer(padding, window, stride):
    with tf.Graph().as_default():
        layer = tf.keras.layers.Conv2DTranspose(1, window, stride, padding)
        y = layer(tf.zeros([1, 5, 5, 1]))
        assert y.shape[1] == conv_utils.deconv_output_length(5, window, padding, stride=stride)
    assert conv_utils.conv_input_length(5, 3, "valid", 2) == 11
    assert conv_utils.deconv_output_length(5, 3, "same", 1, 2) == 10


def test_formats_of_images():
    assert conv_utils.convert_data_format("channels_last", 4) == "NHWC"
    assert conv_utils.convert_data_format("channels_first", 3) == "NCW"
    assert conv_utils.normalize_tuple(2, 3, "strides") == (2, 2, 2)
    assert conv_utils.normalize_data_format(None) == "channels_last"
    assert conv_utils.normalize_padding("SAME") == "same"
    with pytest.raises(ValueError, match="Invalid data_format: middle"):
        conv_utils.convert_data_format("middle", 4)
    with pytest.raises(ValueError, match="Input rank not supported: 7"):
        conv_utils.convert_data_format("channels_last", 7)


def test_lists_arguments_and_parameters():
    assert generic_utils.to_list(1) == [1]
    assert generic_utils.to_list([1, 2]) == [1, 2]
    assert generic_utils.unpack_singleton([3]) == 3
    assert generic_utils.has_arg(lambda x, training=None: x, "training")
    assert not generic_utils.has_arg(lambda x, **kwargs: x, "training")
    assert generic_utils.has_arg(lambda x, **kwargs: x, "training", accept_all=True)
    with tf.Graph().as_default():
        w = tf.get_variable("w", [3, 4])
        assert layer_utils.count_params([w, w, tf.get_variable("b", [4])]) == 16
        assert tf_utils.is_tensor_or_variable(w)
        assert tf_utils.is_symbolic_tensor(tf.constant(1))
        assert not tf_utils.is_tensor_or_variable(1)


def test_a_method_of_tuples_takes_shapes():
    class Twice:
        @tf_utils.shape_type_conversion
        def compute_output_shape(self, input_shape):
            assert isinstance(input_shape, tuple)
            return (*input_shape[:-1], input_shape[-1] * 2)

    shape = Twice().compute_output_shape(tf.TensorShape([None, 3]))
    assert isinstance(shape, tf.TensorShape)
    assert shape.as_list() == [None, 6]
    assert tf_utils.convert_shapes([(2, None), (3,)], to_tuples=False) == [
        tf.TensorShape([2, None]),
        tf.TensorShape([3]),
    ]
