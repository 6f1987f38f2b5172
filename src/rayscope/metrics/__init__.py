"""Series of figures over time: collectors (plug-ins), the store of samples, and queries."""
