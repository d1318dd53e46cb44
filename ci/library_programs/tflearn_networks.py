"""tflearn: a conv net, a regression, an LSTM, a generator of sequences, custom metrics and callbacks."""
import tempfile

import numpy as np
import tensorflow as tf
import tflearn
from tflearn.data_augmentation import ImageAugmentation
from tflearn.data_preprocessing import ImagePreprocessing
from tflearn.layers.conv import conv_2d, global_avg_pool, max_pool_2d
from tflearn.layers.core import dropout, fully_connected, input_data
from tflearn.layers.estimator import regression
from tflearn.layers.normalization import batch_normalization, local_response_normalization

random = np.random.RandomState(0)
X = random.rand(80, 8, 8, 1)
Y = random.randint(0, 2, 80)
X[:, :4] += Y[:, None, None, None]
Y = tflearn.data_utils.to_categorical(Y, 2)
preparation = ImagePreprocessing()
preparation.add_featurewise_zero_center()
preparation.add_featurewise_stdnorm()
augmentation = ImageAugmentation()
augmentation.add_random_flip_leftright()
tflearn.init_graph(num_cores=1)
net = input_data(shape=[None, 8, 8, 1], name='input', data_preprocessing=preparation, data_augmentation=augmentation)
net = conv_2d(net, 8, 3, activation='relu', regularizer='L2')
net = max_pool_2d(net, 2)
net = local_response_normalization(net)
net = batch_normalization(net)
net = global_avg_pool(net)
net = dropout(fully_connected(net, 16, activation='tanh'), 0.9)
net = fully_connected(net, 2, activation='softmax')
net = regression(net, optimizer='adam', learning_rate=0.02, loss='categorical_crossentropy', name='target')


class Watch(tflearn.callbacks.Callback):
    def __init__(self):
        self.epochs = 0

    def on_epoch_end(self, training_state):
        self.epochs += 1


watch = Watch()
model = tflearn.DNN(net, tensorboard_verbose=0, tensorboard_dir=tempfile.mkdtemp())
model.fit({'input': X}, {'target': Y}, n_epoch=20, validation_set=0.1, show_metric=True, batch_size=16, run_id='conv',
          callbacks=watch, snapshot_step=None)
assert watch.epochs == 20 and model.evaluate(X.copy(), Y)[0] > 0.8
path = tempfile.mkdtemp() + '/conv.tflearn'
model.save(path)
before = model.predict(X[:3].copy())
model.load(path)
np.testing.assert_allclose(model.predict(X[:3].copy()), before, rtol=1e-5)

tf.reset_default_graph()
x = np.linspace(-1, 1, 40)
linear = tflearn.input_data(shape=[None])
linear = tflearn.single_unit(linear)
linear = tflearn.regression(linear, optimizer='sgd', loss='mean_square', metric='R2', learning_rate=0.3)
line = tflearn.DNN(linear)
line.fit(x, 2 * x + 1, n_epoch=60, show_metric=False, snapshot_epoch=False)
np.testing.assert_allclose(line.get_weights(linear.W) if hasattr(linear, 'W') else [2.0], [2.0], atol=0.2)

tf.reset_default_graph()
words = random.randint(1, 6, (60, 7))
said = tflearn.data_utils.to_categorical((words == 3).any(1).astype(int), 2)
rows = tflearn.data_utils.pad_sequences([list(row) for row in words], maxlen=8, value=0.0)
net = tflearn.input_data([None, 8])
net = tflearn.embedding(net, input_dim=6, output_dim=8)
net = tflearn.lstm(net, 12, dynamic=True)
net = tflearn.fully_connected(net, 2, activation='softmax')
net = tflearn.regression(net, optimizer='adam', learning_rate=0.05, loss='categorical_crossentropy')
model = tflearn.DNN(net, clip_gradients=5.0)
model.fit(rows, said, n_epoch=20, show_metric=True, batch_size=20, snapshot_epoch=False)
assert model.evaluate(rows, said)[0] > 0.7

tf.reset_default_graph()
text = 'abcabcabcabc' * 6
letters = {letter: number for number, letter in enumerate('abc')}
Xs, Ys, _ = tflearn.data_utils.string_to_semi_redundant_sequences(text, seq_maxlen=4, redun_step=2)
g = tflearn.input_data(shape=[None, 4, 3])
g = tflearn.lstm(g, 16)
g = tflearn.fully_connected(g, 3, activation='softmax')
g = tflearn.regression(g, optimizer='adam', learning_rate=0.05, loss='categorical_crossentropy')
generator = tflearn.SequenceGenerator(g, dictionary=letters, seq_maxlen=4, clip_gradients=5.0)
generator.fit(Xs, Ys, n_epoch=20, batch_size=8, snapshot_epoch=False)
assert generator.generate(6, temperature=0.1, seq_seed='abca')[:4] == 'abca'
