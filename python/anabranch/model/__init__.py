"""What is solved and simulated: networks, demands, paths, and problems made of them."""
