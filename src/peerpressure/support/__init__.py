"""What every package stands on, and nothing of the model: files, tables, formulas, parameters, progress, results."""
