"""The human experts' judgements beside our verdicts; put together in :mod:`imagenet_errors.agreement`."""
