"""Ensembles of boosted decision trees, and streams that estimate the quantiles of features.

A session keeps ensembles and streams. Ops refer to them by handles.
"""
