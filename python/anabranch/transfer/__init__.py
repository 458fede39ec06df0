"""Files moved between machines over several paths, and reports of the transfers."""
