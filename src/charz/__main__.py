"""The command line, run as `python -m charz`."""

from charz.cli import main

if __name__ == "__main__":
    main()
