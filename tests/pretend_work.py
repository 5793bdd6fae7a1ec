"""Work on models that needs no network: what an engine must cope with, in a form that other processes can import."""

import os
from dataclasses import dataclass, field

from imagenet_errors.predict.job import ModelOutcome
from imagenet_errors.predict.settings import Settings


@dataclass(frozen=True)
class PretendWork:
    """A model named ``fails`` fails, one named ``dies`` takes its process down; the others tell their process."""

    settings: Settings = field(default_factory=Settings)

    def __call__(self, spec):
        if spec.name == "dies":
            os._exit(1)
        return ModelOutcome(spec.name, None if spec.name == "fails" else str(os.getpid()).encode())
