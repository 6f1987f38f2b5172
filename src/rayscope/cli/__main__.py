"""``python -m rayscope.cli``: runs the command line without its console script."""

from rayscope.cli.main import app

if __name__ == "__main__":
    app(prog_name="rayscope")
