"""What ``evidence`` says when it is done, and how ``why`` shows a case's evidence."""

from __future__ import annotations

from collections.abc import Iterator

from imagenet_errors.oov.build import Outcome
from imagenet_errors.oov.plan import Plan
from imagenet_errors.problems import counted


def done_lines(outcome: Outcome, plan: Plan) -> Iterator[str]:
    """Say what was done and what could not be, a line each."""
    yield f"{counted(outcome.n_new, 'case')} decided now, {outcome.n_rows:,} in {plan.request.out}"
    yield f"{outcome.n_oov:,} of them show something outside the classes"
    for what, failures in outcome.failures.items():
        if failures:
            yield _listed(failures, what)
    if outcome.n_failures:
        yield f"All of them: {plan.work / 'failures.csv'}"


def _listed(failures: dict[str, str], what: str, *, n_shown: int = 3) -> str:
    """Return one line: how many could not be used, and the first few with their reasons."""
    first = "; ".join(f"{name}: {reason}" for name, reason in list(failures.items())[:n_shown])
    more = "; ..." if len(failures) > n_shown else ""
    return f"{counted(len(failures), what)} could not be used: {first}{more}"
