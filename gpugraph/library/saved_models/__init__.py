"""Functions and classes that write and load SavedModels: graphs with their variables, assets and
signatures.

model_names         TensorFlow's names of files, collections, tags and signatures
tensor_infos        conversion between tensors of a graph and TensorInfos
signatures          building and validation of SignatureDefs
model_assets        files that a graph names, which are copied into a SavedModel
initialization_ops  the op that runs after the variables of a SavedModel are restored
saved_model_file    the file of a SavedModel, and the message in it
model_builder       SavedModelBuilder and simple_save
model_loader        loading of meta graphs
loaded_function     a signature as a callable of NumPy arrays
"""
