"""bert-tensorflow: a small BertModel, its optimizer, and its tokenizer."""
import numpy as np
import tensorflow as tf
from bert import modeling, optimization, tokenization

config = modeling.BertConfig(
    vocab_size=30, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
)
ids = tf.constant(np.random.RandomState(0).randint(1, 30, (4, 8)), tf.int32)
mask = tf.constant([[1] * 6 + [0] * 2] * 4, tf.int32)
model = modeling.BertModel(config, True, ids, mask)
logits = tf.layers.dense(model.get_pooled_output(), 2)
loss = tf.losses.sparse_softmax_cross_entropy([0, 1, 0, 1], logits)
step = optimization.create_optimizer(loss, 5e-3, 100, 2, use_tpu=False)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    first = session.run(loss)
    for _ in range(20):
        session.run(step)
    assert session.run(loss) < first
    assert session.run(model.get_sequence_output()).shape == (4, 8, 16)
with open('/tmp/vocab_of_a_test.txt', 'w') as file:
    file.write('[UNK]\n[CLS]\n[SEP]\nhello\nwor\n##ld\n')
tokens = tokenization.FullTokenizer('/tmp/vocab_of_a_test.txt').tokenize('Hello world!')
assert tokens == ['hello', 'wor', '##ld', '[UNK]'], tokens
