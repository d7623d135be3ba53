"""Where runs execute. An engine only delivers "activate run R", at least once; the journal does the rest."""
