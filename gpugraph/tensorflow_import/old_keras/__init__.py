"""The modules of Keras 2.2 that `import keras` gives if no Keras is installed."""
