"""The built-in detectors, one per module. They are registered as entry points in ``rayscope.detectors``."""
