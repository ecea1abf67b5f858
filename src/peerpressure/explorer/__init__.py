"""The explorer: a web page on this machine for trying out networks, and the server that computes what it shows.

The page sends requests to the routes in ``routes``; each answer is made of the library's own results.
"""
