"""Limits on how many objects the tracer's events list. Code that reads the events needs them, too."""

#: Maximum number of objects listed in one event. If there are more, it also has their number and total size.
MAX_OBJECTS = 256
#: Maximum number of objects listed in the event of a wait. It is lower because loops of ``ray.wait`` pass the
#: same objects repeatedly. While a wait is open, the record does not know how many more there are.
MAX_WAITED = 16
