"""`tf.contrib.learn`: its estimators, experiments and monitors, over the library
tensorflow-estimator, and the feature columns of `tf.contrib.layers`, over `tf.feature_column`.

learn_columns      real_valued_column and other columns, and their input layers
learn_inputs       arrays as input functions
metric_specs       metrics of predictions by key
model_function_ops ModelFnOps, which a model function returns
learn_estimators   Estimator, SKCompat
canned_estimators  DNNClassifier, LinearRegressor, ...
learn_monitors     monitors, as hooks
experiments        Experiment and learn_runner
csv_datasets       tables of CSV files
k_means            the graph of k-means clustering, of `tf.contrib.factorization`
"""
