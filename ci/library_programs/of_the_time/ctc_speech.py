"""Speech features, WAV files, CTC."""

import tensorflow as tf, numpy as np
from tensorflow.contrib.framework.python.ops import audio_ops as contrib_audio
from tensorflow.python.ops import ctc_ops as ctc

np.random.seed(0)
tf.set_random_seed(0)
wav = tf.contrib.signal.frame(
    tf.placeholder_with_default(np.sin(np.arange(4000) * 0.3).astype("f")[None], [None, None]),
    400,
    160,
    pad_end=True,
)
pcm = tf.placeholder_with_default(np.random.randn(2, 4000).astype("f") * 0.1, [None, None])
stfts = tf.contrib.signal.stft(pcm, frame_length=400, frame_step=160, fft_length=512)
mag = tf.abs(stfts)
nb = mag.shape[-1].value
lin = tf.contrib.signal.linear_to_mel_weight_matrix(20, nb, 16000, 80.0, 7600.0)
mel = tf.tensordot(mag, lin, 1)
mel.set_shape(mag.shape[:-1].concatenate(lin.shape[-1:]))
lm = tf.log(mel + 1e-6)
mfcc = tf.contrib.signal.mfccs_from_log_mel_spectrograms(lm)[..., :13]
inv = tf.contrib.signal.inverse_stft(
    stfts, 400, 160, 512, window_fn=tf.contrib.signal.inverse_stft_window_fn(160)
)
feats, seq_len = mfcc, tf.fill([tf.shape(mfcc)[0]], tf.shape(mfcc)[1])
targets = tf.sparse_placeholder(tf.int32)
cell = tf.contrib.rnn.LSTMCell(20, state_is_tuple=True, use_peepholes=True, num_proj=12)
stack = tf.contrib.rnn.MultiRNNCell([cell], state_is_tuple=True)
out, _ = tf.nn.dynamic_rnn(stack, feats, seq_len, dtype=tf.float32)
W = tf.Variable(tf.truncated_normal([12, 6], stddev=0.1))
b = tf.Variable(tf.constant(0.0, shape=[6]))
logits = tf.matmul(tf.reshape(out, [-1, 12]), W) + b
logits = tf.reshape(logits, [tf.shape(feats)[0], -1, 6])
logits = tf.transpose(logits, (1, 0, 2))
loss = tf.nn.ctc_loss(
    targets,
    logits,
    seq_len,
    preprocess_collapse_repeated=False,
    ctc_merge_repeated=True,
    ignore_longer_outputs_than_inputs=True,
)
cost = tf.reduce_mean(loss)
opt = tf.train.MomentumOptimizer(0.005, 0.9).minimize(cost)
decoded, log_prob = ctc.ctc_beam_search_decoder(
    logits, seq_len, beam_width=8, top_paths=2, merge_repeated=False
)
greedy, _ = tf.nn.ctc_greedy_decoder(logits, seq_len)
ler = tf.reduce_mean(tf.edit_distance(tf.cast(decoded[0], tf.int32), targets))
idx = [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1]]
sp = tf.SparseTensorValue(idx, np.array([1, 2, 3, 4, 0], np.int32), [2, 3])
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    for i in range(10):
        c, l, _ = s.run([cost, ler, opt], {targets: sp})
    d = s.run(decoded[0])
    print(
        c,
        l,
        s.run([tf.shape(wav), tf.shape(inv), tf.shape(mel)]),
        tf.sparse_tensor_to_dense(greedy[0], default_value=-1).eval().shape,
        s.run(tf.contrib.signal.hann_window(4)),
        s.run(tf.contrib.signal.overlap_and_add(tf.ones([3, 4]), 2)),
    )
    data = contrib_audio.encode_wav(
        tf.constant(np.sin(np.arange(1000) * 0.1).astype("f")[:, None]), 16000
    )
    w = contrib_audio.decode_wav(data, desired_channels=1, desired_samples=800)
    sg = contrib_audio.audio_spectrogram(
        w.audio, window_size=128, stride=64, magnitude_squared=True
    )
    print(
        s.run(
            [
                tf.shape(sg),
                w.sample_rate,
                tf.shape(contrib_audio.mfcc(sg, w.sample_rate, dct_coefficient_count=10)),
            ]
        )
    )
