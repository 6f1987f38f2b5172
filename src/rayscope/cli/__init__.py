"""The command line: one module for each command, thin over the server and Ray."""
