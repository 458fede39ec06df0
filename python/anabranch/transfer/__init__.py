"""Files moved between machines over several paths, and what is told of it."""
