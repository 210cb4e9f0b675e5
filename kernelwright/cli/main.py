"""The root command: finds commands lazily, and turns errors into one line and an exit code.

Results go to stdout, progress and errors to stderr. `--debug` shows tracebacks.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from importlib import import_module
from typing import Any

import click

import kernelwright
from kernelwright.cli.interrupt import interruptible
from kernelwright.cli.streams import settle_streams
from kernelwright.core.errors import (
    EnvironmentFault,
    ExitCode,
    InternalFault,
    KernelwrightError,
    UsageError,
    boundary,
    did_you_mean,
    first_line,
)

_OF_THE_PATH = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENOENT)

COMMANDS = {
    "optimize": "Find a faster kernel for a computation, and prove it.",
    "diagnose": "Say where the time goes and what a perfect kernel could gain, before any search.",
    "verify": "Judge a kernel: is it right, is it as precise, how fast is it.",
    "audit": "Judge a collection of published kernels: what holds up, and why the rest does not.",
    "serve-verdicts": "Judge kernels for many clients, over HTTP: trainers, teams, continuous integration.",
    "ask-verdict": "Ask such a service for a verdict on one kernel.",
    "signature": "Say what the parameters of a kernel are called, and print a function to begin with.",
    "show": "Show one trial: kernel, verdict, measurement.",
    "report": "List runs and their best kernels.",
    "workload": "Libraries for one field each, whose kernels are proven: list them, or measure one.",
    "doctor": "Say what this machine has: targets, languages, sandbox, store.",
    "trials": "Export trials to JSON lines, or import them.",
}


class LazyGroup(click.Group):
    """A group whose commands are imported on use, so that `--help` stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"kernelwright.cli.{cmd_name.replace('-', '_')}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"unknown command '{args[0]}'; {did_you_mean(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(kernelwright.__version__, prog_name="kernelwright")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def root(debug: bool) -> None:
    """Take a computation, find a faster kernel for it, prove that it is right and the speed is real.

    Exit codes: 0 done, 1 Kernelwright's own fault, 2 usage, 3 rejected, 4 environment, 130 interrupted.
    """


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit the process with a documented code."""
    arguments = sys.argv[1:] if args is None else args
    debug = "--debug" in arguments
    # --debug may stand anywhere on the line.
    arguments = [*(["--debug"] if debug else []), *(item for item in arguments if item != "--debug")]
    sys.exit(_run(arguments, debug))


def _run(arguments: list[str], debug: bool) -> int:
    settle_streams()
    interruptible()
    try:
        with boundary(InternalFault, "an unforeseen fault (run again with --debug to see where)"):
            _require_directory()
            return _invoked(arguments)
    except KernelwrightError as error:
        if debug:
            traceback.print_exception(error)
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail("interrupted", ExitCode.INTERRUPTED)


def _require_directory() -> None:
    """EnvironmentFault where the working directory was removed: paths mean nothing, and libraries abort."""
    try:
        os.getcwd()
    except OSError as error:
        raise EnvironmentFault("the working directory is gone; change to one that exists") from error


def _invoked(arguments: list[str]) -> int:
    """Run the command; what it returns as an exit code. What others raise becomes an error of ours."""
    try:
        # Not `root.main`: it ends the process by itself where the reader of our output goes away.
        with root.make_context("kernelwright", arguments) as context:
            outcome: Any = root.invoke(context)
        sys.stdout.flush()
        return int(outcome) if isinstance(outcome, int) else ExitCode.DONE
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.Abort as error:
        raise KeyboardInterrupt from error
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return ExitCode.USAGE
    except click.ClickException as error:
        return _fail(error.format_message(), ExitCode.USAGE)
    except BrokenPipeError:
        # The reader of our output went away (`| head`): not an error, and nothing more to say. Not the
        # reader of our log: what stderr cannot take is let go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DONE
    except ImportError as error:
        raise EnvironmentFault(f"{first_line(error)}; install what Kernelwright depends on") from error
    except OSError as error:
        if error.errno in _OF_THE_PATH:
            raise UsageError(
                f"'{error.filename}' cannot be used: {error.strerror}; give another path"
            ) from error
        raise EnvironmentFault(f"{first_line(error)}; free space or choose another place") from error


def _fail(message: str, code: ExitCode) -> ExitCode:
    click.echo(f"error: {message}", err=True)
    return code
