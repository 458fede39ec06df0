"""What the files of a published experiment say: runs, quantities, figures, each table key by key."""
