"""Speed, as ratios in one run: a number without its neighbour says more about the machine than about us."""
