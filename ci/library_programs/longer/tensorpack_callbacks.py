"""tensorpack: a conv net by its layers and dataflow, with callbacks, inference runners and restoring."""
import glob
import tempfile

import numpy as np
import tensorflow as tf
from tensorpack import *
from tensorpack.dataflow import BatchData, DataFromList, LocallyShuffleData, MapDataComponent, PrintData, RepeatedData
from tensorpack.tfutils import argscope, optimizer, summary, varreplace
from tensorpack.tfutils.varmanip import load_chkpt_vars
from tensorpack.utils import logger

random = np.random.RandomState(0)
points = []
for number in range(64):
    label = number % 2
    image = random.rand(8, 8, 1).astype('float32')
    image[2:5, 2:5] += 2 * label
    points.append([image, label])


class Model(ModelDesc):
    def inputs(self):
        return [tf.TensorSpec((None, 8, 8, 1), tf.float32, 'image'), tf.TensorSpec((None,), tf.int32, 'label')]

    def build_graph(self, image, label):
        with argscope(Conv2D, kernel_size=3, activation=tf.nn.relu, filters=8), argscope([Conv2D, BatchNorm], data_format='channels_last'):
            net = (LinearWrap(image).Conv2D('conv0').BatchNorm('bn').MaxPooling('pool', 2).Conv2D('conv1')
                   .FullyConnected('fc0', 16, activation=tf.nn.relu).Dropout('drop', rate=0.3)
                   .FullyConnected('fc1', units=2, activation=tf.identity)())
        tf.nn.softmax(net, name='prob')
        cost = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=net, labels=label), name='cross_entropy')
        correct = tf.cast(tf.nn.in_top_k(net, label, 1), tf.float32, name='correct')
        accuracy = tf.reduce_mean(correct, name='accuracy')
        tf.reduce_mean(1 - correct, name='train-error')
        decay = tf.multiply(1e-5, regularize_cost('fc.*/W', tf.nn.l2_loss), name='regularize_loss')
        summary.add_moving_summary(accuracy, cost)
        summary.add_param_summary(('.*/W', ['histogram', 'rms']))
        return tf.add_n([cost, decay], name='cost')

    def optimizer(self):
        rate = tf.get_variable('learning_rate', initializer=1e-2, trainable=False)
        opt = tf.train.AdamOptimizer(rate)
        return optimizer.apply_grad_processors(opt, [gradproc.GlobalNormClip(5.0), gradproc.SummaryGradient()])


train = BatchData(MapDataComponent(LocallyShuffleData(DataFromList(points), 32), lambda x: x * 1.0), 16)
test = BatchData(DataFromList(points, shuffle=False), 16, remainder=True)
folder = tempfile.mkdtemp()
logger.set_logger_dir(folder, action='d')
config = TrainConfig(
    model=Model(), data=QueueInput(train), steps_per_epoch=8, max_epoch=4, session_init=None,
    callbacks=[
        ModelSaver(), ScheduledHyperParamSetter('learning_rate', [(1, 0.02), (3, 0.005)]),
        InferenceRunner(test, [ScalarStats('cross_entropy'), ScalarStats('accuracy')]),
        MinSaver('validation_cross_entropy'), HumanHyperParamSetter('learning_rate'), PeriodicTrigger(ModelSaver(), every_k_epochs=2),
    ],
    monitors=[TFEventWriter(), JSONWriter(), ScalarPrinter()],
)
launch_train_with_config(config, SimpleTrainer())
import json
stats = json.load(open(folder + '/stats.json'))
assert stats[-1]['validation_accuracy'] > 0.9, stats[-1]
variables = load_chkpt_vars(tf.train.latest_checkpoint(folder))
assert variables['conv0/W'].shape == (3, 3, 1, 8) and glob.glob(folder + '/min-validation*')
predictor = OfflinePredictor(PredictConfig(
    model=Model(), session_init=SaverRestore(tf.train.latest_checkpoint(folder)), input_names=['image'], output_names=['prob']))
prob = predictor(np.stack([image for image, _ in points]))[0]
assert ((prob[:, 1] > 0.5) == np.array([label for _, label in points])).mean() > 0.9
