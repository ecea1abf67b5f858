"""Let ``python -m peerpressure`` do what ``peerpressure`` does, which begins here, too."""

import sys


def main() -> None:
    """Run the command line of this process; Ctrl-C ends it in one line, also while modules are loaded."""
    try:
        from peerpressure.cli import main as run
    except KeyboardInterrupt:
        print("peerpressure: interrupted", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
