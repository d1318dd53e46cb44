"""cleverhans and adversarial-robustness-toolbox: attacks on a trained network."""
import numpy as np
import tensorflow as tf
from art.attacks.evasion import FastGradientMethod as ArtFGM, ProjectedGradientDescent
from art.classifiers import TFClassifier
from cleverhans.attacks import BasicIterativeMethod, FastGradientMethod
from cleverhans.model import CallableModelWrapper
from cleverhans.utils_tf import model_eval

random = np.random.RandomState(0)
x_data = random.rand(60, 6).astype(np.float32)
labels = (x_data.sum(1) > 3).astype(int)
y_data = np.eye(2)[labels].astype(np.float32)
x = tf.placeholder(tf.float32, [None, 6])
y = tf.placeholder(tf.float32, [None, 2])


def network(inputs):
    with tf.variable_scope('net', reuse=tf.AUTO_REUSE):
        return tf.layers.dense(tf.layers.dense(inputs, 16, tf.nn.relu, name='a'), 2, name='b')


logits = network(x)
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))
step = tf.train.AdamOptimizer(0.05).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(100):
        session.run(step, {x: x_data, y: y_data})
    model = CallableModelWrapper(network, 'logits')
    clean = model_eval(session, x, y, tf.nn.softmax(logits), x_data, y_data, args={'batch_size': 20})
    adversarial = FastGradientMethod(model, sess=session).generate(x, eps=0.3, clip_min=0.0, clip_max=1.0)
    fooled = model_eval(session, x, y, tf.nn.softmax(network(adversarial)), x_data, y_data, args={'batch_size': 20})
    assert clean > 0.9 and fooled < clean - 0.3, (clean, fooled)
    moved = BasicIterativeMethod(model, sess=session).generate_np(x_data, eps=0.2, eps_iter=0.05, nb_iter=5, clip_min=0.0, clip_max=1.0)
    assert np.abs(moved - x_data).max() <= 0.2 + 1e-5
    classifier = TFClassifier(clip_values=(0, 1), input_ph=x, output=logits, labels_ph=y, train=step, loss=loss, learning=None, sess=session)
    classifier.fit(x_data, y_data, batch_size=20, nb_epochs=2)
    for attack in (ArtFGM(classifier, eps=0.3), ProjectedGradientDescent(classifier, eps=0.3, eps_step=0.1, max_iter=5)):
        found = attack.generate(x_data)
        accuracy = (classifier.predict(found).argmax(1) == labels).mean()
        assert accuracy < clean, accuracy
