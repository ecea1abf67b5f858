"""What can be taken home: the scenario, the numbers, the pictures, and the Python that makes them again."""
