"""The report: figures, tables and audit as one page that needs nothing but a browser."""
