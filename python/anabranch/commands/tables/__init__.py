"""Tables on a terminal: columns of names and numbers, as wide as there is room, with no number broken."""
