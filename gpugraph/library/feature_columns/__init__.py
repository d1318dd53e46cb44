"""Feature columns: how features of examples become the inputs of a model."""
