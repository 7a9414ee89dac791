"""Reads a HAR file with jsonschema, haralyzer and mitmproxy, and prints what each of them found. See Scripts/har-readers."""

import json
import pathlib
import sys

import haralyzer
import jsonschema
from mitmproxy import io

path = pathlib.Path(sys.argv[1])
archive = json.loads(path.read_text(encoding="utf-8"))
schema = json.loads(pathlib.Path(__file__).with_name("har-1.2.schema.json").read_text(encoding="utf-8"))
validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
validator.check_schema(schema)

parser = haralyzer.HarParser(archive)
entries = [haralyzer.HarEntry(entry) for entry in parser.har_data["entries"]]
with path.open("rb") as file:
    flows = list(io.FlowReader(file).stream())

json.dump(
    {
        "violations": [f"{error.json_path}: {error.message}" for error in validator.iter_errors(archive)][:20],
        "haralyzer": {
            "version": parser.version,
            "urls": [entry.request.url for entry in entries],
            "statuses": [entry.status for entry in entries],
            "bodySizes": [entry.response.bodySize for entry in entries],
        },
        "mitmproxy": {
            "urls": [flow.request.pretty_url for flow in flows],
            "statuses": [flow.response.status_code for flow in flows],
            "decodedSizes": [len(flow.response.get_content(strict=False) or b"") for flow in flows],
        },
    },
    sys.stdout,
)
