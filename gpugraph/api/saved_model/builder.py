"""`tf.saved_model.builder`: writes SavedModels."""

from gpugraph.library.saved_models.model_builder import SavedModelBuilder as SavedModelBuilder
