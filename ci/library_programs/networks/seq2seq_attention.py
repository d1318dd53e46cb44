"""Translation with attention, scheduled sampling and beam search."""

import tensorflow as tf, numpy as np
from tensorflow.python.layers.core import Dense
from tensorflow.contrib.seq2seq import *
from tensorflow.python.util import nest

PAD, GO, EOS = 0, 1, 2
V, H, B, beam = 12, 16, 8, 3


def single(res=True):
    c = tf.contrib.rnn.LayerNormBasicLSTMCell(H)
    return tf.contrib.rnn.DropoutWrapper(
        tf.contrib.rnn.ResidualWrapper(c) if res else c, output_keep_prob=keep
    )


tf.set_random_seed(0)
src = tf.placeholder(tf.int32, [None, None])
slen = tf.placeholder(tf.int32, [None])
tgt = tf.placeholder(tf.int32, [None, None])
tlen = tf.placeholder(tf.int32, [None])
keep = tf.placeholder_with_default(1.0, [], name="keep")
emb = tf.get_variable("embedding", [V, H], initializer=tf.contrib.layers.xavier_initializer())
with tf.variable_scope("encoder"):
    cell = tf.contrib.rnn.MultiRNNCell([single() for _ in range(2)])
    enc_out, enc_state = tf.nn.dynamic_rnn(
        cell, tf.nn.embedding_lookup(emb, src), sequence_length=slen, dtype=tf.float32
    )


def decoder(mode):
    with tf.variable_scope("decoder", reuse=(mode != "train")):
        memory, lens, state, bs = enc_out, slen, enc_state, tf.shape(src)[0]
        if mode == "beam":
            memory = tile_batch(memory, multiplier=beam)
            lens = tile_batch(lens, beam)
            state = nest.map_structure(lambda s: tile_batch(s, beam), state)
            bs = bs * beam
        am = BahdanauAttention(
            num_units=H, memory=memory, memory_sequence_length=lens, normalize=True
        )
        dc = tf.contrib.rnn.MultiRNNCell([single(False) for _ in range(2)])
        dc = AttentionWrapper(
            cell=dc,
            attention_mechanism=am,
            attention_layer_size=H,
            alignment_history=(mode == "greedy"),
            name="Attention_Wrapper",
        )
        init = dc.zero_state(batch_size=bs, dtype=tf.float32).clone(cell_state=state)
        proj = Dense(
            V, kernel_initializer=tf.truncated_normal_initializer(mean=0.0, stddev=0.1), name="proj"
        )
        if mode == "train":
            ending = tf.strided_slice(tgt, [0, 0], [tf.shape(tgt)[0], -1], [1, 1])
            dec_in = tf.concat([tf.fill([tf.shape(tgt)[0], 1], GO), ending], 1)
            helper = ScheduledEmbeddingTrainingHelper(
                tf.nn.embedding_lookup(emb, dec_in), tlen, emb, sampling_probability=0.1
            )
            d = BasicDecoder(dc, helper, init, output_layer=proj)
            out, st, _ = dynamic_decode(
                d, impute_finished=True, maximum_iterations=tf.reduce_max(tlen)
            )
            return tf.identity(out.rnn_output)
        start = tf.ones([tf.shape(src)[0]], tf.int32) * GO
        if mode == "greedy":
            d = BasicDecoder(dc, GreedyEmbeddingHelper(emb, start, EOS), init, output_layer=proj)
            out, st, _ = dynamic_decode(d, maximum_iterations=10)
            return out.sample_id, st.alignment_history.stack()
        d = BeamSearchDecoder(
            dc, emb, start, EOS, init, beam, output_layer=proj, length_penalty_weight=0.6
        )
        out, _, ln = dynamic_decode(d, maximum_iterations=10)
        return out.predicted_ids, ln


logits = decoder("train")
mask = tf.sequence_mask(tlen, tf.reduce_max(tlen), dtype=tf.float32, name="masks")
loss = sequence_loss(logits=logits, targets=tgt[:, : tf.reduce_max(tlen)], weights=mask)
params = tf.trainable_variables()
grads, norm = tf.clip_by_global_norm(tf.gradients(loss, params), 5.0)
train = tf.train.AdamOptimizer(0.01).apply_gradients(zip(grads, params))
greedy, align = decoder("greedy")
beams, blen = decoder("beam")
np.random.seed(0)


def batch():
    n = np.random.randint(3, 6, B)
    s = np.zeros((B, 6), int)
    t = np.zeros((B, 7), int)
    for i, k in enumerate(n):
        r = np.random.randint(3, V, k)
        s[i, :k] = r
        t[i, :k] = r[::-1]
        t[i, k] = EOS
    return s, n, t, n + 1


with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    first = None
    for i in range(40):
        a, b, c, d = batch()
        l, _ = sess.run([loss, train], {src: a, slen: b, tgt: c, tlen: d, keep: 0.95})
        first = first or l
    g, al, bm, bl = sess.run([greedy, align, beams, blen], {src: a, slen: b})
    print(first, l, g.shape, al.shape, bm.shape, bl.shape)
