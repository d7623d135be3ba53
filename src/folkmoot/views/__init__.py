"""What people and programs look at: folds over a run's events, one file per thing shown. Pure."""
