"""Cooperating threads: a coordinator, threads that loop, and queue runners."""
