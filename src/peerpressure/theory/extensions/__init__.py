"""What becomes of agents whose network changes, or whose hidden opinions adapt."""
