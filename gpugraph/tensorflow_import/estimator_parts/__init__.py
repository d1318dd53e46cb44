"""TensorFlow's names that have to do with estimators. They are functions on models, predictors, and
the settings of a run.
"""
