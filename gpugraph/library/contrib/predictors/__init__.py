"""`tf.contrib.predictor`: functions of arrays that a saved model or an estimator computes."""
