"""The modules of Keras 2.2 that `import keras` provides if no Keras is installed."""
