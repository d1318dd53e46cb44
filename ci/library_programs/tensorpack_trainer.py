"""tensorpack: a ModelDesc trained by SimpleTrainer over a DataFlow, then used by a predictor."""
import tempfile

import numpy as np
import tensorflow as tf
from tensorpack import (
    DataFromList, BatchData, ModelDesc, ModelSaver, OfflinePredictor, PredictConfig, QueueInput,
    SmartInit, SimpleTrainer, TrainConfig, launch_train_with_config, logger,
)

random = np.random.RandomState(0)
points = random.randn(64, 3).astype(np.float32)
values = points.dot([1.0, 2.0, -1.0]).astype(np.float32)


class Model(ModelDesc):
    def inputs(self):
        return [tf.TensorSpec((None, 3), tf.float32, 'x'), tf.TensorSpec((None,), tf.float32, 'y')]

    def build_graph(self, x, y):
        out = tf.identity(tf.layers.dense(x, 1)[:, 0], name='out')
        return tf.reduce_mean(tf.square(out - y), name='cost')

    def optimizer(self):
        return tf.train.AdamOptimizer(0.1)


folder = tempfile.mkdtemp()
logger.set_logger_dir(folder, action='d')
data = BatchData(DataFromList(list(zip(points, values)), shuffle=False), 16)
launch_train_with_config(
    TrainConfig(
        model=Model(), data=QueueInput(data), callbacks=[ModelSaver()], steps_per_epoch=20, max_epoch=3
    ),
    SimpleTrainer(),
)
predict = OfflinePredictor(
    PredictConfig(
        model=Model(), session_init=SmartInit(tf.train.latest_checkpoint(folder)),
        input_names=['x'], output_names=['out'],
    )
)
(out,) = predict(points)
assert np.abs(out - values).mean() < 0.5
