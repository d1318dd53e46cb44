"""Collectives, which are groups of ops that combine their inputs. Each op of a group is on a
different device.
"""
