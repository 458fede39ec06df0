"""The model: networks, demands, paths, and the problems made of them."""
