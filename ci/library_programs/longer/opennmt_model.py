"""OpenNMT-tf: a small sequence-to-sequence model, by its Runner."""
import os
import tempfile

import numpy as np
import opennmt as onmt
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
folder = tempfile.mkdtemp()
random = np.random.RandomState(0)
with open(folder + '/src.txt', 'w') as source, open(folder + '/tgt.txt', 'w') as target:
    for _ in range(80):
        words = random.choice(list('abcd'), random.randint(2, 6))
        source.write(' '.join(words) + '\n')
        target.write(' '.join(words[::-1]) + '\n')
with open(folder + '/vocab.txt', 'w') as file:
    file.write('\n'.join(['<blank>', '<s>', '</s>', 'a', 'b', 'c', 'd']) + '\n')
model = onmt.models.SequenceToSequence(
    source_inputter=onmt.inputters.WordEmbedder('source_words_vocabulary', embedding_size=8),
    target_inputter=onmt.inputters.WordEmbedder('target_words_vocabulary', embedding_size=8),
    encoder=onmt.encoders.BidirectionalRNNEncoder(1, 16), decoder=onmt.decoders.AttentionalRNNDecoder(1, 16, bridge=onmt.layers.CopyBridge()))
config = {
    'model_dir': folder + '/run',
    'data': {'train_features_file': folder + '/src.txt', 'train_labels_file': folder + '/tgt.txt',
             'eval_features_file': folder + '/src.txt', 'eval_labels_file': folder + '/tgt.txt',
             'source_words_vocabulary': folder + '/vocab.txt', 'target_words_vocabulary': folder + '/vocab.txt'},
    'params': {'optimizer': 'AdamOptimizer', 'learning_rate': 0.01, 'beam_width': 2},
    'train': {'batch_size': 16, 'train_steps': 30, 'save_checkpoints_steps': 30, 'sample_buffer_size': 80},
    'eval': {'batch_size': 16, 'external_evaluators': None}, 'infer': {'batch_size': 16}}
runner = onmt.Runner(model, config, seed=1)
os.mkdir(folder + '/run')
runner.train()
scores = runner.evaluate()
runner.infer(folder + '/src.txt', predictions_file=folder + '/out.txt')
assert len(open(folder + '/out.txt').read().splitlines()) == 80
