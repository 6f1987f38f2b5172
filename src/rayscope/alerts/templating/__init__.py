"""Templates of labels and annotations, as Prometheus renders them: Go's ``text/template``."""
