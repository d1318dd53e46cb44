"""tensor2tensor: registers a problem; trainer_lib trains, evaluates, and decodes by beam search."""
import os
import tempfile

import numpy as np
import tensorflow as tf
from tensor2tensor import problems
from tensor2tensor.data_generators import generator_utils, problem, text_encoder, text_problems
from tensor2tensor.layers import common_attention, common_layers, modalities
from tensor2tensor import models
from tensor2tensor.utils import decoding, flags, registry, t2t_model, trainer_lib  # flags defines --problem

tf.logging.set_verbosity(tf.logging.ERROR)


@registry.register_problem
class ReverseLetters(text_problems.Text2TextProblem):
    @property
    def vocab_type(self):
        return text_problems.VocabType.CHARACTER

    @property
    def is_generate_per_split(self):
        return False

    @property
    def dataset_splits(self):
        return [{'split': problem.DatasetSplit.TRAIN, 'shards': 1}, {'split': problem.DatasetSplit.EVAL, 'shards': 1}]

    def generate_samples(self, data_dir, tmp_dir, dataset_split):
        random = np.random.RandomState(0)
        for _ in range(60):
            word = ''.join(random.choice(list('abc'), random.randint(2, 5)))
            yield {'inputs': word, 'targets': word[::-1]}


@registry.register_model
class TinyNet(t2t_model.T2TModel):
    def body(self, features):
        x = common_layers.flatten4d3d(features['inputs'])
        return tf.layers.dense(x, self.hparams.hidden_size, activation=tf.nn.relu)[:, :, None, :]


folder = tempfile.mkdtemp()
data_dir, output_dir = folder + '/data', folder + '/out'
for path in (data_dir, folder + '/tmp'):
    os.mkdir(path)
prob = problems.problem('reverse_letters')
prob.generate_data(data_dir, folder + '/tmp')
hparams = trainer_lib.create_hparams('transformer_tiny', 'num_hidden_layers=1,hidden_size=16,filter_size=16,num_heads=2,batch_size=256',
                                     problem_name='reverse_letters')
run_config = trainer_lib.create_run_config(
    'transformer', model_dir=output_dir, save_checkpoints_steps=20, iterations_per_loop=10)
experiment = trainer_lib.create_experiment(
    run_config, hparams, 'transformer', 'reverse_letters', data_dir, train_steps=20, eval_steps=2, schedule='train',
    min_eval_frequency=10)
experiment.train()
scores = experiment.evaluate()
assert scores['global_step'] == 20 and scores['loss'] > 0, scores
assert 'metrics-reverse_letters/targets/accuracy' in scores
estimator = trainer_lib.create_estimator(
    'transformer', hparams, run_config, decode_hparams=decoding.decode_hparams('beam_size=2,alpha=0.6'))
with open(folder + '/in.txt', 'w') as file:
    file.write('abc\ncab\n')
decode_hp = decoding.decode_hparams('beam_size=2,alpha=0.6,batch_size=2')
decode_hp.problem_idx = 0
decode_hp.shards, decode_hp.shard_id = 1, 0
tf.flags.FLAGS.problem = 'reverse_letters'
decoding.decode_from_file(estimator, folder + '/in.txt', hparams, decode_hp, folder + '/out.txt')
assert len(open(folder + '/out.txt').read().splitlines()) == 2
assert 'tiny_net' in registry.list_models() and 'transformer_big' in registry.list_hparams()
encoder = text_encoder.SubwordTextEncoder.build_to_target_size(20, {'hello': 5, 'help': 4, 'low': 3}, 1, 10)
assert encoder.decode(encoder.encode('hello low')) == 'hello low'
with tf.Graph().as_default(), tf.Session() as session:
    q = tf.random_normal([2, 4, 8])
    attended = common_attention.multihead_attention(q, None, common_attention.attention_bias_lower_triangle(4), 8, 8, 8, 2, 0.0)
    moe = common_layers.conv_block(tf.random_normal([2, 8, 8, 3]), 4, [((1, 1), (3, 3))], padding='SAME')
    session.run(tf.global_variables_initializer())
    assert session.run(attended).shape == (2, 4, 8) and session.run(moe).shape == (2, 8, 8, 4)
