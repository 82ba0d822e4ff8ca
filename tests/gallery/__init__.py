"""The golden gallery: reports of data made in code, in every format, in `reports/`.

    texts.py        sentences, code and conversations from a seed
    tokenizer.py    a toy tokenizer that writes them back as they were
    samples.py      texts → samples in tokens, with their parts and targets
    packing.py      samples → packs → rows as packers write them → files
    scenario.py     what a scenario is; running it through the command line
    scenarios/      one module each: what is planted, and where
    index.py        what `reports/README.md` says of each scenario
    golden.py       reports made now against those in `reports/`
    pictures.py     screenshots for `reports/README.md`
    __main__.py     the command

`python -m tests.gallery` says which files in `reports/` are stale, `--write` writes them, and `--pictures`
makes the screenshots anew.

To add a scenario: a module in `scenarios/` and a row in `SCENARIOS`; then `--write`.
"""
