#!/bin/sh
# Makes the JSON Schemas of this folder again from the public type packages that package.json pins. For developers only: it
# wants Node 20 and npm; tests and builds read what is committed. Read the diff: a change is a change of the platform's API.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cp "$here/package.json" "$here/tsconfig.json" "$here/types.ts" "$tmp"
cd "$tmp"
npm install --silent --no-package-lock --ignore-scripts
npx --no-install tsc --project tsconfig.json
for type in Evaluator Eval Run; do
	npx --no-install ts-json-schema-generator --path types.ts --tsconfig tsconfig.json --type "$type" --no-top-ref --jsDoc none --out "$here/$(echo "$type" | tr '[:upper:]' '[:lower:]').schema.json"
done
