"""Collectives: ops on several devices that compute something of all their inputs."""
