"""`dragstrip completion`: what a shell needs to complete commands, options and names."""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from typer.testing import CliRunner

from dragstrip.cli import COMPLETE, exits


class Shell(StrEnum):
    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell.")],
    install: Annotated[
        bool,
        typer.Option("--install", help="Install it where the shell looks, instead of printing it."),
    ] = False,
) -> int:
    """Print or install shell completion (bash, zsh, fish)."""
    script = script_of(shell)
    if not install:
        sys.stdout.write(script)
        return exits.DONE
    path = place(shell)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script)
    console = Console(stderr=True, highlight=False)
    console.print(f"{path}: new shells complete `dragstrip`.")
    if shell is Shell.zsh:
        console.print(
            f"For zsh to look there, add to ~/.zshrc: fpath+=({path.parent}); autoload -Uz "
            "compinit; compinit"
        )
    return exits.DONE


def script_of(shell: Shell) -> str:
    """Return the completion script that Typer prints for a program named ``dragstrip``."""
    program = typer.Typer()
    program.command()(lambda: None)
    asked = {COMPLETE: f"source_{shell}"}
    return CliRunner().invoke(program, prog_name="dragstrip", env=asked).stdout.strip() + "\n"


def place(shell: Shell) -> Path:
    """Return the file in which the shell looks for the user's own completions."""
    home = Path.home()
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return {
        Shell.bash: data / "bash-completion/completions/dragstrip",
        Shell.zsh: data / "zsh/site-functions/_dragstrip",
        Shell.fish: config / "fish/completions/dragstrip.fish",
    }[shell]
