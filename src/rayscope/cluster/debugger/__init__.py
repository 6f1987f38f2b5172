"""Tasks that wait for a debugger, and the connections of debuggers to them."""
