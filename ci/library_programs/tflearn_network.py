"""tflearn: a network trained, saved, loaded, and used for predictions."""
import tempfile

import numpy as np
import tensorflow as tf
import tflearn

random = np.random.RandomState(0)
x = random.randn(64, 4)
y = np.eye(2)[(x.sum(1) > 0).astype(int)]
net = tflearn.input_data(shape=[None, 4])
net = tflearn.fully_connected(net, 16, activation='relu')
net = tflearn.fully_connected(net, 2, activation='softmax')
net = tflearn.regression(net, optimizer='adam', learning_rate=0.05, loss='categorical_crossentropy')
model = tflearn.DNN(net, tensorboard_verbose=0, tensorboard_dir=tempfile.mkdtemp())
model.fit(x, y, n_epoch=10, batch_size=16, show_metric=True, snapshot_step=False)
predicted = model.predict(x)
assert (predicted.argmax(1) == y.argmax(1)).mean() > 0.8
path = tempfile.mkdtemp() + '/model.tfl'
model.save(path)
model.load(path)
np.testing.assert_allclose(model.predict(x), predicted, rtol=1e-5)
