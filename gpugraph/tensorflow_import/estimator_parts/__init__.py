"""Names of TensorFlow for estimators: models, predictors and settings of their runs."""
