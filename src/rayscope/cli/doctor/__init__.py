"""``rayscope doctor``: asking (``gather``, ``host``), judging (``judging``), printing (``command``)."""
