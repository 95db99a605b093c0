"""`python -m isamap` is the `isamap` command.

In: command line arguments. Out: the command's exit code. Not its job: anything else.
"""

from .cli import main

if __name__ == "__main__":
    main()
