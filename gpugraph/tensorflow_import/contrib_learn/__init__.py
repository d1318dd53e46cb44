"""`tf.contrib.learn`, with estimators, experiments and monitors, and the feature columns of
`tf.contrib.layers`. They are implemented with the library tensorflow-estimator and with
`tf.feature_column`.

learn_columns      real_valued_column and other columns, and their input layers
learn_inputs       input functions that return batches of arrays
metric_specs       MetricSpec, which describes a metric of predictions
model_function_ops ModelFnOps, which a model function returns
learn_estimators   Estimator, SKCompat
canned_estimators  DNNClassifier, LinearRegressor, ...
learn_monitors     monitors, which are implemented as hooks
experiments        Experiment and learn_runner
csv_datasets       examples in CSV files
k_means            the graph of k-means clustering (`tf.contrib.factorization`)
"""
