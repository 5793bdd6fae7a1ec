"""``imagenet-errors check``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from imagenet_errors.cli import options
from imagenet_errors.cli.screen import say, say_json
from imagenet_errors.problems import InputError

CHECK_FAILED = 3
"""The exit status where a condition holds."""
LAYOUT = 1


def check(
    run_dir: options.RunDir,
    /,
    *,
    fail_if: Annotated[
        tuple[str, ...],
        Parameter(
            help="A condition such as 'model_failure > 0.35', 'mla < 0.88' or 'delta.mla < -0.005'. May be given "
            "several times.",
            group=options.INPUTS,
            show_default=False,
            negative=(),
        ),
    ] = (),
    baseline: Annotated[Path | None, Parameter(help="The run that delta. is taken from.", group=options.INPUTS)] = None,
    junit_xml: Annotated[
        Path | None, Parameter(help="Write the checks as a JUnit test suite, too.", group=options.OUTPUT)
    ] = None,
    as_json: options.AsJson = False,
) -> int:
    """Fail where a figure of a run is beyond a limit: exit status 3, with the lines that failed."""
    from imagenet_errors.check import check as check_run
    from imagenet_errors.check import junit_xml as junit_bytes
    from imagenet_errors.check import parse_condition
    from imagenet_errors.files import written_whole

    if not fail_if:
        raise InputError("--fail-if", "is needed", fix="Pass a condition, such as --fail-if 'model_failure > 0.35'.")
    checked = check_run(run_dir, [parse_condition(text) for text in fail_if], baseline=baseline)
    failed = [each for each in checked if each.failed]
    if junit_xml is not None:
        with written_whole(junit_xml) as partial:
            partial.write_bytes(junit_bytes(checked, name=f"imagenet-errors check {run_dir.name}"))
    if as_json:
        rows = [{**each.__dict__} for each in checked]
        say_json({"layout": LAYOUT, "failed": bool(failed), "checks": rows})
    else:
        for each in failed:
            say(f"FAILED {each.line}")
        say(f"{len(checked) - len(failed)} of {len(checked)} checks passed")
    return CHECK_FAILED if failed else 0
