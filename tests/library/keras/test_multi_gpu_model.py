"""multi_gpu_model on virtual GPUs, and kernels that are turned around."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

K, layers = tf.keras.backend, tf.keras.layers
ROWS = np.random.RandomState(0).rand(7, 4).astype(np.float32)


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default():
        options = tf.GPUOptions(virtual_gpus=2)
        config = tf.ConfigProto(allow_soft_placement=True, gpu_options=options)
        with tf.Session(config=config) as session:
            yield session


def two_outputs():
    one, other = tf.keras.Input((4,)), tf.keras.Input((4,))
    x = layers.Dense(3, activation="tanh")(layers.add([one, other]))
    return tf.keras.Model(
        [one, other], [layers.Dense(1, name="a")(x), layers.Dense(2, name="b")(x)]
    )


@pytest.mark.parametrize("options", [{}, {"cpu_merge": False, "cpu_relocation": True}])
def test_parts_of_a_batch_on_two_gpus(session, options):
    model = two_outputs()
    parallel = tf.keras.utils.multi_gpu_model(model, 2, **options)
    assert parallel.output_names == ["a", "b"]
    if not options:
        for value, expected in zip(parallel.predict([ROWS, ROWS]), model.predict([ROWS, ROWS])):
            np.testing.assert_allclose(value, expected, rtol=1e-5)
    products = [op for op in session.graph.get_operations() if op.type == "MatMul"]
    assert {"/device:GPU:0", "/device:GPU:1"} <= {op.device for op in products}
    parallel.compile("sgd", "mse")
    before = parallel.get_weights()
    parallel.train_on_batch([ROWS, ROWS], [ROWS[:, :1], ROWS[:, :2]])
    assert all((new != old).any() for new, old in zip(parallel.get_weights(), before))


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"with `gpus >= 2`\. Received: `gpus=1`"):
        tf.keras.utils.multi_gpu_model(two_outputs(), 1)
    with pytest.raises(ValueError, match=r"However this machine only has: \['/cpu:0', '/gpu:0'"):
        tf.keras.utils.multi_gpu_model(two_outputs(), [0, 3])


def test_kernels_are_turned_around():
    model = tf.keras.Sequential([layers.Conv2D(2, 3, input_shape=(4, 4, 1)), layers.Dense(1)])
    before = model.get_weights()
    tf.keras.utils.convert_all_kernels_in_model(model)
    after = model.get_weights()
    np.testing.assert_array_equal(after[0], before[0][::-1, ::-1])
    np.testing.assert_array_equal(after[2], before[2])
