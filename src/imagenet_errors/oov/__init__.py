"""How out-of-vocabulary evidence is made; nothing here is needed to evaluate."""
