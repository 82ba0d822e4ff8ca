"""What tokenizers and their chat templates say: ids to text, special ids, and how a chat is written.

tokenizer.py     tokenizer.json and the files beside it (extra `tokenizers`)
render.py        a chat template and messages to text; sandbox.py keeps templates within limits
chat_format.py   how a chat format is stated
formats.py       the formats that people use, as data: token_formats.py, text_formats.py
compile.py       a format as text to markers as ids
examples.py      what the tokenizer's own template writes, for what templates of one format do differently
spelling.py      how the text of special tokens looks when it is split
detect.py        which format a tokenizer belongs to, with the evidence
declared.py      the table [chat] of the configuration

The scanner that finds the roles of tokens works on ids alone and lives in `packlint.model.turns`; which of
them are meant to be targets is said in `packlint.model.expected`.
"""
