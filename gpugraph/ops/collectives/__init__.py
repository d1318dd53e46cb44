"""Collectives, which are groups of ops on several devices that combine the ops' inputs."""
