"""What becomes of the model in continuous time."""
