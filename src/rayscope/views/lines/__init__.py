"""The slow lines of functions, from the samples of stacks that the tracer takes."""
