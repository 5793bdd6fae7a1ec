"""The rules, one error type a file; their order is in :mod:`imagenet_errors.chain`."""
