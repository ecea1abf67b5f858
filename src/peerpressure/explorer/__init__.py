"""The explorer: a page on this machine where a network is tried out, and the server that computes what it shows.

The page asks questions (``questions.QUESTIONS``); each answer is made of the library's own verbs and computes nothing
of its own.
"""
