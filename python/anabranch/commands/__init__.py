"""The commands, one file each: options in, text out; the work is done elsewhere."""
