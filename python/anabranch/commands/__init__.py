"""The commands, one file each: options in, text out; the work is done elsewhere."""

INTERRUPTED = 130
"""Exit code: stopped by Ctrl-C; after another signal the program ends with the code of that signal."""
