"""The command line: one module per command, imported only when its command runs.

    main.py        the group, lazy commands, exit codes, errors in one line
    check.py       packlint check PATH…       options.py, outputs.py, progress.py, job_summary.py
    baseline.py    packlint baseline PATH…
    show.py        packlint show SHARD
    rules.py       packlint rules             catalogue.py
    explain.py     packlint explain CODE
    formats.py     packlint formats
    trainers.py    packlint trainers [NAME]
    manifest.py    packlint manifest PATH…
    demo.py        packlint demo              demo_data.py
    screen.py      the terminal: width, colour, encoding, writing

Exit codes: 0 clean, 1 findings at or above --fail-on, 2 usage, configuration or internal error,
3 no input matched; 130 interrupted, 141 the reader of a pipe went away.
"""
