"""Checks JSON documents by the schema of resolve-test, and that the schema notices every change of them.

usage: validate.py SCHEMA     with lines such as {"definition": "resolve", "text": "{...}"} on standard input

Prints an object: `violations` for the documents as they are, and `unnoticed` for changes that the schema permits: an unknown key
in any object, a value of another type, and a removed key. No key may be unknown here, although the schema permits more keys. Of
the removed keys it prints those of one definition together, since some keys are optional: `optional`.
"""

import copy
import json
import pathlib
import sys

import jsonschema


def strict(node, name=None):
    """Refuses unknown keys, but not in parts that other definitions extend, whose names end in Members."""
    if isinstance(node, dict):
        for key, child in node.items():
            if key in ("properties", "$defs"):
                for child_name, grandchild in child.items():
                    strict(grandchild, child_name if key == "$defs" else None)
            else:
                strict(child)
        is_object = node.get("type") == "object" and ("properties" in node or "allOf" in node)
        if is_object and not (name or "").endswith("Members"):
            node["unevaluatedProperties"] = False
    elif isinstance(node, list):
        for child in node:
            strict(child)


def another(value):
    """A value of another type. Null is replaced by a list with true, which no key may have."""
    if value is None:
        return [True]
    if isinstance(value, (bool, int, float)):
        return "text"
    return 7


def changes(document, path=()):
    """Yields (kind, path, changed document)."""
    part = document
    for step in path:
        part = part[step]

    def changed(change):
        result = copy.deepcopy(document)
        target = result
        for step in path:
            target = target[step]
        change(target)
        return result

    if isinstance(part, dict):
        yield "unknown", path, changed(lambda target: target.update({"unknownKey": True}))
        for key in part:
            yield "removed", path + (key,), changed(lambda target: target.pop(key))
            yield "type", path + (key,), changed(lambda target: target.update({key: another(part[key])}))
    elif isinstance(part, list):
        for index in range(min(len(part), 1)):
            yield "type", path + (index,), changed(lambda target: target.__setitem__(index, another(part[index])))
    for step in part if isinstance(part, dict) else range(min(len(part), 1)) if isinstance(part, list) else ():
        if isinstance(part[step], (dict, list)):
            yield from changes(document, path + (step,))


def is_map(validator, document, path):
    """Whether the last key of the path is one of any names: another one may have the same value."""
    changed = copy.deepcopy(document)
    target = changed
    for step in path[:-1]:
        target = target[step]
    target["unknownKey"] = copy.deepcopy(target[path[-1]])
    return validator.is_valid(changed)


schema = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
jsonschema.Draft202012Validator.check_schema(schema)
strict(schema)
result = {"violations": [], "unnoticed": [], "optional": {}}
for line in sys.stdin:
    case = json.loads(line)
    name = case["definition"]
    document = json.loads(case["text"])
    # The path of a $ref is relative to the whole schema.
    validator = jsonschema.Draft202012Validator({"$defs": schema["$defs"], "$ref": f"#/$defs/{name}"})
    errors = [f"{name} {error.json_path}: {error.message}" for error in validator.iter_errors(document)]
    result["violations"] += errors
    if errors:
        continue
    for kind, path, changed in changes(document):
        if validator.is_valid(changed):
            if kind == "removed" and is_map(validator, document, path):
                continue
            text = ".".join("*" if isinstance(step, int) else step for step in path)
            if kind == "removed":
                result["optional"].setdefault(name, set()).add(text)
            else:
                result["unnoticed"].append(f"{name} {kind} {text}")
result["violations"] = result["violations"][:20]
result["optional"] = {name: sorted(paths) for name, paths in result["optional"].items()}
json.dump(result, sys.stdout)
