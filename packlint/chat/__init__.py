"""What tokenizers say: ids to text, and which ids are special.

tokenizer.py    tokenizer.json and the files beside it (extra `tokenizers`)
"""
