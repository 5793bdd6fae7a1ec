"""The method itself examined: agreement with the experts, sensitivity to its choices."""
