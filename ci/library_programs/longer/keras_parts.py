"""keras-bert and its kin, on tf.keras: a classifier over extracted features, attention, transformer, optimizers."""
import os

os.environ['TF_KERAS'] = '1'
import keras_transformer
import numpy as np
import tensorflow as tf
from keras_bert import AdamWarmup, Tokenizer, calc_train_steps, get_model
from keras_bert.layers import Extract
from keras_layer_normalization import LayerNormalization
from keras_multi_head import MultiHead, MultiHeadAttention
from keras_pos_embd import PositionEmbedding, TrigPosEmbedding
from keras_position_wise_feed_forward import FeedForward
from keras_self_attention import SeqSelfAttention, SeqWeightedAttention

keras = tf.keras
tokens = {word: number for number, word in enumerate(['[PAD]', '[UNK]', '[CLS]', '[SEP]', 'good', 'bad', 'film', '##s'])}
tokenizer = Tokenizer(tokens)
assert tokenizer.tokenize('Good films') == ['[CLS]', 'good', 'film', '##s', '[SEP]']
ids, segments = zip(*[tokenizer.encode(text, max_len=6) for text in ['good film', 'bad films'] * 10])
labels = np.array([1, 0] * 10)
base = get_model(token_num=8, pos_num=6, seq_len=6, embed_dim=8, transformer_num=1, head_num=2, feed_forward_dim=8,
                 dropout_rate=0.0, training=False, trainable=True)
inputs, dense = base[0], Extract(index=0)(base[1]) if isinstance(base, tuple) else Extract(index=0)(base.output)
out = keras.layers.Dense(2, activation='softmax')(dense)
model = keras.Model(inputs if isinstance(inputs, list) else base.inputs, out)
total, warm = calc_train_steps(20, 5, 30, 0.1)
model.compile(AdamWarmup(total, warm, lr=0.02), 'sparse_categorical_crossentropy', metrics=['sparse_categorical_accuracy'])
model.fit([np.array(ids), np.array(segments)], labels, batch_size=5, epochs=15, verbose=0)
assert model.evaluate([np.array(ids), np.array(segments)], labels, verbose=0)[1] == 1.0

x = keras.layers.Input((6, 8))
net = TrigPosEmbedding(mode=TrigPosEmbedding.MODE_ADD)(x)
net = MultiHeadAttention(head_num=2)(net)
net = LayerNormalization()(net)
net = FeedForward(12)(net)
net = SeqSelfAttention(attention_width=3, attention_activation='sigmoid')(net)
net = MultiHead(keras.layers.LSTM(4, return_sequences=True), layer_num=2)(net)
net = keras.layers.Reshape((6, 8))(net)
net = SeqWeightedAttention()(net)
model = keras.Model(x, keras.layers.Dense(1)(net))
model.compile('adam', 'mse')
data = np.random.RandomState(0).randn(20, 6, 8)
first = model.evaluate(data, data.mean((1, 2)), verbose=0)
model.fit(data, data.mean((1, 2)), epochs=10, verbose=0)
assert model.evaluate(data, data.mean((1, 2)), verbose=0) < first
translator = keras_transformer.get_model(
    token_num=8, embed_dim=8, encoder_num=1, decoder_num=1, head_num=2, hidden_dim=16, dropout_rate=0.0)
translator.compile('adam', 'sparse_categorical_crossentropy')
rows = np.array([[2, 4, 5, 3]] * 8)
translator.fit([rows, rows], rows[:, :, None], epochs=2, verbose=0)
assert len(keras_transformer.decode(translator, [2, 4, 5, 3], start_token=2, end_token=3, pad_token=0, max_len=5)) > 0
