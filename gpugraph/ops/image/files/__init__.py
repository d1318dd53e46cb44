"""Image files: decoders and encoders of JPEG, PNG, GIF and BMP."""
