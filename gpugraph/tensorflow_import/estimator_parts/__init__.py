"""Classes and functions of TensorFlow for estimators. They concern models, predictors, and the
settings of a run.
"""
