"""What the page can ask, one module for each question: a prepared scenario in, bytes out."""
