"""What runs inside users' processes: the standard library and Ray alone, and never an error for them."""
