"""Collectives: ops on several devices that combine their inputs."""
