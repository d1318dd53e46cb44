"""tf.contrib.factorization: a sparse matrix factored by an estimator, with the losses of TensorFlow 1.15.5."""
import tempfile

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
random = np.random.RandomState(0)
matrix = (random.rand(7, 6) < 0.7) * random.randn(7, 6)
rows, columns = random.randn(7, 3).astype('f'), random.randn(6, 3).astype('f')
Factorization = tf.contrib.factorization.WALSMatrixFactorization


def sparse(dense):
    places = np.argwhere(dense != 0)
    return tf.SparseTensor(places, dense[places[:, 0], places[:, 1]].astype('f'), dense.shape)


def inputs(project_row=None):
    def read():
        features = {Factorization.INPUT_ROWS: sparse(matrix), Factorization.INPUT_COLS: sparse(matrix.T)}
        if project_row is not None:
            features[Factorization.PROJECT_ROW] = tf.constant(project_row)
        return features, None
    return read


estimator = Factorization(
    7, 6, 3, regularization_coeff=0.1, row_init=rows, col_init=columns, max_sweeps=6,
    model_dir=tempfile.mkdtemp(),
)
estimator.fit(input_fn=inputs(), steps=100)
assert estimator.get_variable_value('completed_sweeps') == 6
trained = estimator.get_row_factors()[0]
np.testing.assert_allclose(trained[0], [-0.1805, -0.3268, 0.5999], atol=1e-3)
loss = estimator.evaluate(input_fn=inputs(True), steps=1)['loss']
np.testing.assert_allclose(loss, 4.3073, rtol=1e-3)
loss = estimator.evaluate(input_fn=inputs(False), steps=1)['loss']
np.testing.assert_allclose(loss, 3.7819, rtol=1e-3)
projected = np.array([row for row, _ in zip(estimator.get_projections(inputs(True)), range(7))])
print(np.abs(trained @ estimator.get_col_factors()[0].T - matrix)[matrix != 0].mean())
np.testing.assert_allclose(projected, trained, atol=0.3)
