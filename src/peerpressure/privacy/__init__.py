"""What an onlooker is told about each agent, and what hiding it costs."""
