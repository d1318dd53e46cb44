"""deepctr: DeepFM, DIN, xDeepFM and an estimator on toy clicks."""
import numpy as np
import tensorflow as tf
from deepctr.feature_column import DenseFeat, SparseFeat, VarLenSparseFeat, get_feature_names
from deepctr.models import DCN, DIN, AutoInt, DeepFM, xDeepFM

random = np.random.RandomState(0)
sparse = {name: random.randint(0, 5, 100) for name in ('user', 'item')}
dense = random.rand(100)
clicks = ((sparse['user'] + sparse['item']) % 2).astype(np.float32)
columns = [SparseFeat(name, 5, embedding_dim=4) for name in sparse] + [DenseFeat('age', 1)]
columns.append(VarLenSparseFeat(SparseFeat('tags', 6, embedding_dim=4), maxlen=3, combiner='mean'))
feed = dict(sparse, age=dense, tags=random.randint(0, 6, (100, 3)))
for build in (DeepFM, xDeepFM, DCN, AutoInt):
    model = build(columns, columns, task='binary', dnn_hidden_units=(8, 8)) if build is not AutoInt else build(
        columns, columns, dnn_hidden_units=(8,), att_layer_num=1)
    model.compile('adam', 'binary_crossentropy', metrics=['binary_crossentropy'])
    names = get_feature_names(columns + columns)
    history = model.fit({name: feed[name] for name in names}, clicks, batch_size=20, epochs=8, verbose=0)
    losses = history.history['loss']
    assert losses[-1] < losses[0], (build, losses)
behaviours = [SparseFeat('item', 5, embedding_dim=4, embedding_name='item'), SparseFeat('user', 5, embedding_dim=4)]
behaviours.append(VarLenSparseFeat(SparseFeat('hist_item', 5, embedding_dim=4, embedding_name='item'), maxlen=4))
model = DIN(behaviours, ['item'], dnn_hidden_units=(8,), att_hidden_size=(4,))
model.compile('adagrad', 'binary_crossentropy')
feed['hist_item'] = random.randint(0, 5, (100, 4))
model.fit({name: feed[name] for name in get_feature_names(behaviours)}, clicks, epochs=1, verbose=0)
