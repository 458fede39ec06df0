"""The content of the files of a published experiment: runs, quantities, figures, each table key by key."""
