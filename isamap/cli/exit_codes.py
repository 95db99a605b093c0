"""The exit codes of every command; 0 is fine.

In: nothing. Out: numbers. Not its job: any command.
"""

EXIT_WRONG = 1  # a program, or an instruction, does not do what it says
EXIT_USAGE = 2  # the user's mistake: arguments, a kernel, a machine
EXIT_NOTHING_FOUND = 3
EXIT_INTERRUPTED = 130  # as shells say it: 128 + SIGINT
EXIT_UNREAD = 141  # likewise, 128 + SIGPIPE: who reads standard output has seen enough
