"""Pooling of images and volumes."""
