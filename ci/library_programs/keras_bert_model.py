"""keras-bert on tf.keras: a small model trained for masked words and next sentences."""
import os

os.environ['TF_KERAS'] = '1'
import keras_bert
import numpy as np

pairs = [[['all', 'work'], ['no', 'play']], [['from', 'this'], ['day', 'on']]]
tokens = keras_bert.get_base_dict()
for pair in pairs:
    for word in pair[0] + pair[1]:
        tokens.setdefault(word, len(tokens))
model = keras_bert.get_model(
    token_num=len(tokens), head_num=2, transformer_num=1, embed_dim=8, feed_forward_dim=16,
    seq_len=10, pos_num=10, dropout_rate=0.0,
)
keras_bert.compile_model(model)
inputs, outputs = keras_bert.gen_batch_inputs(pairs, tokens, list(tokens), seq_len=10, mask_rate=0.3)
first = model.train_on_batch(inputs, outputs)
for _ in range(20):
    last = model.train_on_batch(inputs, outputs)
assert np.ravel(last)[0] < np.ravel(first)[0], (first, last)
