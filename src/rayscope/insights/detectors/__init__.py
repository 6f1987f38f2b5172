"""The built-in detectors, by theme. They are registered as entry points in ``rayscope.detectors``."""
