"""Code for users' processes. It imports only the standard library and Ray, and never raises there."""
