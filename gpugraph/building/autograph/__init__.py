"""AutoGraph: conversion of functions whose statements depend on tensors to functions that build
graphs.
"""
