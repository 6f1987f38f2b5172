"""Find anything of a session by its name or the first letters of its id."""
