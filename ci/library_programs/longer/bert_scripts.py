"""bert-tensorflow: its scripts on toy data: pretraining examples, pretraining and fine-tuning by TPUEstimator."""
import json
import os
import random
import subprocess
import sys
import tempfile

SCRIPTS = ('create_pretraining_data', 'run_pretraining', 'run_classifier', 'extract_features')
if len(sys.argv) > 1 and sys.argv[1] in SCRIPTS:
    import runpy
    name = sys.argv.pop(1)
    runpy.run_module('bert.' + name, run_name='__main__', alter_sys=True)
    sys.exit()

folder = tempfile.mkdtemp()
words = '[PAD] [UNK] [CLS] [SEP] [MASK] good bad film day the a was very'.split()
with open(folder + '/vocab.txt', 'w') as file:
    file.write('\n'.join(words) + '\n')
with open(folder + '/config.json', 'w') as file:
    json.dump(dict(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=32, hidden_act='gelu', type_vocab_size=2, initializer_range=0.02,
        hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1), file)
random.seed(0)
with open(folder + '/text.txt', 'w') as file:
    for _ in range(20):
        for _ in range(3):
            file.write(' '.join(random.choice(words[5:]) for _ in range(6)) + '\n')
        file.write('\n')
os.mkdir(folder + '/glue')
for name in ('train', 'dev', 'test'):
    with open(folder + '/glue/%s.tsv' % name, 'w') as file:
        if name == 'test':
            file.write('id\tsentence\n')
        for number in range(32):
            text = 'the film was %s' % ['bad', 'good'][number % 2]
            file.write('%d\t%s\n' % (number, text) if name == 'test' else '%d\t%d\t*\t%s\n' % (number, number % 2, text))


def run(name, **flags):
    command = [sys.executable, '-W', 'ignore', __file__, name] + ['--%s=%s' % flag for flag in flags.items()]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]


common = dict(vocab_file=folder + '/vocab.txt', max_seq_length=16)
run('create_pretraining_data', input_file=folder + '/text.txt', output_file=folder + '/text.tfrecord',
    max_predictions_per_seq=3, dupe_factor=2, **common)
run('run_pretraining', input_file=folder + '/text.tfrecord', output_dir=folder + '/pretrained', do_train=True, do_eval=True,
    bert_config_file=folder + '/config.json', train_batch_size=8, max_seq_length=16, max_predictions_per_seq=3,
    num_train_steps=10, num_warmup_steps=2, learning_rate=1e-3, max_eval_steps=2, eval_batch_size=8)
found = dict(line.strip().split(' = ') for line in open(folder + '/pretrained/eval_results.txt'))
assert found['global_step'] == '10' and float(found['masked_lm_loss']) > 0
run('run_classifier', task_name='CoLA', do_train=True, do_eval=True, do_predict=True, data_dir=folder + '/glue',
    bert_config_file=folder + '/config.json', init_checkpoint=folder + '/pretrained/model.ckpt-10', train_batch_size=8,
    learning_rate=2e-3, num_train_epochs=40.0, output_dir=folder + '/tuned', **common)
found = dict(line.strip().split(' = ') for line in open(folder + '/tuned/eval_results.txt'))
assert float(found['eval_accuracy']) > 0.9, found
assert len(open(folder + '/tuned/test_results.tsv').read().splitlines()) == 32
with open(folder + '/in.txt', 'w') as file:
    file.write('the film ||| was good\n')
run('extract_features', input_file=folder + '/in.txt', output_file=folder + '/features.json', layers='-1',
    bert_config_file=folder + '/config.json', init_checkpoint=folder + '/tuned/model.ckpt-%s' % found['global_step'],
    batch_size=1, **common)
assert len(json.loads(open(folder + '/features.json').readline())['features']) == 7
