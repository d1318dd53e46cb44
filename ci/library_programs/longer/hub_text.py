"""tensorflow-hub: a text embedding module with a vocabulary asset, a column, and fine-tuning."""
import os
import tempfile

import numpy as np
import tensorflow as tf
import tensorflow_hub as hub

tf.logging.set_verbosity(tf.logging.ERROR)
folder = tempfile.mkdtemp()
vocabulary = os.path.join(folder, 'tokens.txt')
with open(vocabulary, 'w') as file:
    file.write('\n'.join(['cat', 'dog', 'red', 'blue']))
vectors = np.random.RandomState(0).randn(5, 3).astype(np.float32)


def module_fn(trainable_scale=False, tags=None):
    sentences = tf.placeholder(tf.string, [None], 'sentences')
    table = tf.contrib.lookup.index_table_from_file(vocabulary, num_oov_buckets=1, vocab_size=4)
    embeddings = tf.get_variable('embeddings', initializer=vectors, trainable=True,
                                 regularizer=tf.contrib.layers.l2_regularizer(0.01))
    words = tf.string_split(sentences)
    ids = tf.SparseTensor(words.indices, table.lookup(words.values), words.dense_shape)
    out = tf.nn.embedding_lookup_sparse(embeddings, ids, None, combiner='sqrtn')
    hub.add_signature('default', {'text': sentences}, {'default': out})
    hub.attach_message('info', tf.train.BytesList(value=[b'made here']))


spec = hub.create_module_spec(module_fn, tags_and_args=[(set(), {}), ({'train'}, {'trainable_scale': True})])
with tf.Graph().as_default():
    module = hub.Module(spec, tags={'train'}, trainable=True)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        module.export(folder + '/module', session)
os.rename(vocabulary, vocabulary + '.moved')
assert hub.load_module_spec(folder + '/module').get_attached_message('info', tf.train.BytesList).value[0] == b'made here'
column = hub.text_embedding_column('text', folder + '/module', trainable=True)


def inputs():
    texts = ['red cat', 'blue dog', 'cat', 'dog dog'] * 8
    return tf.data.Dataset.from_tensor_slices(({'text': texts}, [0, 1, 0, 1] * 8)).repeat().batch(8)


estimator = tf.estimator.DNNClassifier([4], [column], folder + '/run', optimizer=tf.train.AdamOptimizer(0.05))
estimator.train(inputs, steps=60)
assert estimator.evaluate(inputs, steps=4)['accuracy'] == 1.0
with tf.Graph().as_default():
    module = hub.Module(folder + '/module')
    assert module.get_signature_names() == ['default'] and module.get_input_info_dict()['text'].dtype == tf.string
    found = module(['cat blue', 'unknown'])
    more = hub.eval_function_for_module(folder + '/module')
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        np.testing.assert_allclose(session.run(found), [(vectors[0] + vectors[3]) / np.sqrt(2), vectors[4]], rtol=1e-5)
