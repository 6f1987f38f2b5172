"""How many objects the tracer's events list, which those who read the events must know."""

#: Maximum number of objects listed in one event. For more, it holds only their number and total size.
MAX_OBJECTS = 256
#: Objects listed in the event of a wait. Fewer, because loops of ``ray.wait`` pass the same ones repeatedly.
#: The event of an open wait does not count the others.
MAX_WAITED = 16
