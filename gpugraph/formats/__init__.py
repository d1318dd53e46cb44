"""TensorFlow's file formats and messages: conversion between bytes and values, independent of
graphs.
"""
