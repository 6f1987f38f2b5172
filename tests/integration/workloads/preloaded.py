"""Loaded by workers before they belong to a job, as Ray's ``preload_python_modules`` does."""

from __future__ import annotations

import threading

import rayscope

rayscope.counter("preloaded", 1)
_thread = threading.Thread(target=rayscope.counter, args=("preloaded", 2))
_thread.start()
_thread.join()
