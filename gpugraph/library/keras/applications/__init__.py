"""`tf.keras.applications`: networks for images. The package keras-applications builds the networks.

`applications_package` calls the package. `application_modules` has the table of modules and names.
"""

from gpugraph.library.keras.applications.application_modules import MODULES

densenet = MODULES["densenet"]
imagenet_utils = MODULES["imagenet_utils"]
inception_resnet_v2 = MODULES["inception_resnet_v2"]
inception_v3 = MODULES["inception_v3"]
mobilenet = MODULES["mobilenet"]
mobilenet_v2 = MODULES["mobilenet_v2"]
nasnet = MODULES["nasnet"]
resnet = MODULES["resnet"]
resnet50 = MODULES["resnet50"]
resnet_v2 = MODULES["resnet_v2"]
vgg16 = MODULES["vgg16"]
vgg19 = MODULES["vgg19"]
xception = MODULES["xception"]

DenseNet121 = densenet.DenseNet121
DenseNet169 = densenet.DenseNet169
DenseNet201 = densenet.DenseNet201
InceptionResNetV2 = inception_resnet_v2.InceptionResNetV2
InceptionV3 = inception_v3.InceptionV3
MobileNet = mobilenet.MobileNet
MobileNetV2 = mobilenet_v2.MobileNetV2
NASNetLarge = nasnet.NASNetLarge
NASNetMobile = nasnet.NASNetMobile
ResNet50 = resnet.ResNet50
ResNet101 = resnet.ResNet101
ResNet152 = resnet.ResNet152
ResNet50V2 = resnet_v2.ResNet50V2
ResNet101V2 = resnet_v2.ResNet101V2
ResNet152V2 = resnet_v2.ResNet152V2
VGG16 = vgg16.VGG16
VGG19 = vgg19.VGG19
Xception = xception.Xception
