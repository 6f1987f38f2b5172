"""Templates of labels and annotations. They are rendered as in Prometheus, which uses Go's
``text/template``.
"""
