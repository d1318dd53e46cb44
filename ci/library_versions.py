"""The libraries of TensorFlow 1 that `libraries.py` reads, with their versions."""

_VERSIONS = """
adanet==0.8.0 adversarial-robustness-toolbox==1.2.0 albert-tensorflow==1.1 anago==1.0.8
autokeras==0.4.0 baselines==0.1.5 bert-serving-server==1.10.0 bert-tensorflow==1.0.1
cleverhans==3.0.1 deepctr==0.8.2 deeppavlov==0.14.0 deepxde==0.8.0 delira==0.4.1 dltk==0.2.1
dm-sonnet==1.36 dopamine-rl==2.0.5 edward==1.3.5 efficientnet==1.1.0 foolbox==2.4.0
garage==2019.10.3 gpflow==1.5.1 gpt-2-simple==0.7.2 graph-nets==1.0.4 image-classifiers==1.0.0
kashgari==1.1.5 keras-adaptive-softmax==0.9.0 keras-bert==0.89.0 keras-embed-sim==0.10.0
keras-gcn==0.15.0 keras-layer-normalization==0.16.0 keras-multi-head==0.29.0 keras-pos-embd==0.13.0
keras-position-wise-feed-forward==0.8.0 keras-radam==0.12.0 keras-rl==0.4.2
keras-self-attention==0.51.0 keras-tcn==2.9.3 keras-transformer==0.40.0 keras-tuner==1.0.1
keras-vis==0.4.1 kfac==0.2.4 larq==0.9.4 lucid==0.3.8 ludwig==0.2.2 magenta==2.1.4
mesh-tensorflow==0.1.19 neural-structured-learning==1.1.0 NiftyNet==0.6.0 OpenNMT-tf==1.25.3
prettytensor==0.7.4 rasa==1.10.0 segmentation-models==1.0.1 skflow==0.1.0 spektral==0.1.2
spleeter==1.4.9 stable-baselines==2.10.2 stellargraph==0.8.4 t5==0.5.0 tensor2tensor==1.15.7
tensorboard==1.15.0 tensorflow-constrained-optimization==0.2 tensorflow-datasets==1.3.2
tensorflow-estimator==1.15.2 tensorflow-gan==1.0.0.dev0 tensorflow-hub==0.7.0
tensorflow-lattice==0.9.9 tensorflow-model-analysis==0.15.4 tensorflow-privacy==0.2.2
tensorflow-probability==0.7.0 tensorflow-ranking==0.2.3 tensorflow-transform==0.15.0
tensorforce==0.5.5 tensorlayer==1.11.1 tensorpack==0.11 texar==0.2.4 tf-agents==0.3.0
tf-encrypted==0.5.9 tf-object-detection==0.0.1 tf-slim==1.1.0 tf2onnx==1.8.5 tflearn==0.5.0
tfmesos==0.0.10 trfl==1.1.0
"""

VERSIONS = dict(pair.split("==") for pair in _VERSIONS.split())
"""The version of each library."""
