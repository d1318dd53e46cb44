"""SavedModels: graphs with their variables, assets and signatures, written and loaded.

model_names         TensorFlow's names of files, collections, tags and signatures
tensor_infos        tensors of a graph as TensorInfos, and back
signatures          SignatureDefs, built and judged
model_assets        files that a graph names: copied into a SavedModel, never outside it
initialization_ops  what a SavedModel runs after its variables are restored
saved_model_file    the file of a SavedModel, and the message in it
model_builder       SavedModelBuilder and simple_save
model_loader        load, and which meta graphs there are
loaded_function     a signature as a callable of NumPy arrays
"""
