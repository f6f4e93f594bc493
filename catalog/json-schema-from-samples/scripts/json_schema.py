"""Infer a JSON Schema 2020-12 from samples, or check samples against a schema."""
import argparse
import ipaddress
import json
import re
import sys
from collections import Counter
from datetime import date, datetime, time
from pathlib import Path

MAX_BYTES = 64 * 1024 * 1024


def fail(message):
    """Bad input: say what to do, leave with 2 (1 means: the check ran and found problems)."""
    print(f"error: {message}", file=sys.stderr)
    sys.exit(2)


def read_text(path):
    """The text of a file: UTF-8 with or without BOM, UTF-16 with BOM, else Windows-1252 with a note."""
    file = Path(path)
    if not file.exists():
        fail(f"{path} does not exist; pass the path of an existing file")
    if file.is_dir():
        fail(f"{path} is a folder; pass a file")
    try:
        if file.stat().st_size > MAX_BYTES:
            fail(f"{path} is larger than {MAX_BYTES // 1024 // 1024} MB; split it first")
        raw = file.read_bytes()
    except OSError as problem:
        fail(f"{path} cannot be read ({problem.strerror}); check its permissions")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = raw.decode("utf-16", errors="replace")
    elif b"\0" in raw:
        fail(f"{path} is a binary file; export it as plain text first")
    else:
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = raw.decode("cp1252", errors="replace")
            print(f"note: {path} is not UTF-8; read as Windows-1252, check accented letters", file=sys.stderr)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def write_text(path, text, inputs=()):
    """Write an output, never over an input."""
    file = Path(path)
    for source in inputs:
        if file.exists() and Path(source).exists() and file.samefile(source):
            fail(f"{path} is an input; choose another output path")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", errors="replace", newline="\n")
    except OSError as problem:
        fail(f"{path} cannot be written ({problem.strerror}); write below /workspace/output")
    print(f"wrote {path}")


def tries(function, *errors):
    def test(text):
        try:
            function(text)
            return True
        except errors or ValueError:
            return False
    return test


def is_datetime(text):
    if not re.fullmatch(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)", text):
        return False
    return tries(datetime.fromisoformat)(re.sub(r"\.(\d{6})\d+", r".\1", text.upper()))


FORMATS = {
    "date-time": is_datetime,
    "date": lambda text: bool(re.fullmatch(r"\d{4}-\d\d-\d\d", text)) and tries(date.fromisoformat)(text),
    "time": lambda text: bool(re.fullmatch(r"\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", text))
    and tries(time.fromisoformat)(re.sub(r"\.(\d{6})\d+", r".\1", text)),
    "uuid": lambda text: bool(re.fullmatch(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}", text)),
    "email": lambda text: len(text) < 255 and bool(re.fullmatch(r"[\w.!#$%&'*+/=?^`{|}~-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+", text)),
    "ipv4": tries(ipaddress.IPv4Address),
    "ipv6": tries(ipaddress.IPv6Address),
    "uri": lambda text: bool(re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:(?://)?[^\s<>\"{}|\\^`]+", text)),
}
URI_SAFE = re.compile(r"(?:https?|ftp|mailto|urn|wss?):", re.I)
KNOWN = {"type", "enum", "const", "properties", "required", "additionalProperties", "patternProperties", "items",
         "prefixItems", "minItems", "maxItems", "uniqueItems", "minLength", "maxLength", "pattern", "minimum", "maximum",
         "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minProperties", "maxProperties", "format", "anyOf",
         "oneOf", "allOf", "not", "$defs", "$ref", "$schema", "$id", "$comment", "title", "description", "examples",
         "default", "deprecated", "readOnly", "writeOnly"}


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def load(path, each):
    text = read_text(path)
    if not text.strip():
        fail(f"{path} is empty; pass files with JSON")
    samples = []
    if Path(path).suffix.lower() in (".jsonl", ".ndjson"):
        parts = [(f"{path}:{number}", line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    else:
        parts = [(path, text)]
    for where, part in parts:
        try:
            samples.append((where, json.loads(part, parse_constant=refuse_constant)))
        except (ValueError, RecursionError) as problem:
            fail(f"{where} is not JSON ({problem}); one sample per line needs a name ending in .jsonl")
    if each:
        samples = [(f"{where}[{i}]", item) for where, value in samples
                   for i, item in enumerate(value if isinstance(value, list) else [value])]
    return samples


def kind(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    return {float: "number", str: "string", list: "array", dict: "object"}[type(value)]


def infer(values, options, path, warnings):
    kinds = Counter(kind(value) for value in values)
    if "number" in kinds:
        kinds["number"] += kinds.pop("integer", 0)
    names = sorted(kinds, key=lambda name: (name == "null", name))
    schema = {}
    if names:
        schema["type"] = names[0] if len(names) == 1 else names
    plain = [name for name in names if name != "null"]
    if len(plain) > 1:
        warnings.append(f"{path}: several types ({', '.join(plain)}); check whether it is a union or a fault")
    texts = [value for value in values if isinstance(value, str)]
    if texts:
        distinct = sorted(set(texts))
        fits = next((name for name, test in FORMATS.items() if all(map(test, distinct))
                     and (name != "uri" or all(URI_SAFE.match(text) for text in distinct))), None)
        if fits:
            schema["format"] = fits
        elif (options.enum and plain == ["string"] and len(distinct) <= 8 and len(texts) >= 3 * len(distinct)
              and all(0 < len(text) <= 40 for text in distinct)):
            schema["enum"] = distinct + ([None] if "null" in kinds else [])
    lists = [value for value in values if isinstance(value, list)]
    if lists:
        items = [item for value in lists for item in value]
        if items:
            schema["items"] = infer(items, options, f"{path}[]", warnings)
        else:
            warnings.append(f"{path}: only empty lists seen; the items are unknown")
    objects = [value for value in values if isinstance(value, dict)]
    if objects:
        counts = Counter(key for value in objects for key in value)
        optional = [key for key, count in counts.items() if count < len(objects)]
        if len(optional) > 30:
            warnings.append(f"{path}: {len(optional)} optional keys; are the keys data? use additionalProperties")
        schema["properties"] = {key: infer([value[key] for value in objects if key in value], options, f"{path}.{key}", warnings)
                                for key in counts}
        required = [key for key, count in counts.items() if count == len(objects)]
        if required:
            schema["required"] = required
        if options.closed:
            schema["additionalProperties"] = False
    return schema


def equal(left, right):
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    return left == right


def unknown_keywords(schema, found):
    if isinstance(schema, dict):
        found |= set(schema) - KNOWN
        for key in ("properties", "patternProperties", "$defs"):
            for part in (schema.get(key) or {}).values():
                unknown_keywords(part, found)
        for key in ("items", "additionalProperties", "not"):
            unknown_keywords(schema.get(key), found)
        for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            for part in schema.get(key) or []:
                unknown_keywords(part, found)
    return found


def validate(value, schema, path, root, depth=0):
    if schema is True:
        return []
    if schema is False:
        return [f"{path}: nothing is allowed here"]
    if not isinstance(schema, dict):
        fail(f"the schema for {path} is neither an object nor true or false; correct the schema")
    if depth > 200:
        fail(f"{path}: the schema refers to itself without end; correct its $ref")
    errors = []
    deeper = lambda item, part, where: validate(item, part, where, root, depth + 1)
    if "$ref" in schema:
        target, reference = root, str(schema["$ref"])
        if not reference.startswith("#"):
            fail(f"$ref {reference} leaves the file; put the schema into $defs")
        try:
            for part in [p for p in reference[1:].split("/") if p]:
                target = target[part.replace("~1", "/").replace("~0", "~")]
        except (KeyError, TypeError):
            fail(f"$ref {reference} leads nowhere; correct the schema")
        errors += deeper(value, target, path)
    actual = kind(value)
    types = schema.get("type")
    if types is not None:
        types = [types] if isinstance(types, str) else types
        if actual not in types and not (actual == "integer" and "number" in types):
            return errors + [f"{path}: is {actual}, must be {' or '.join(types)}"]
    if "enum" in schema and not any(equal(value, option) for option in schema["enum"]):
        errors.append(f"{path}: {json.dumps(value)[:60]} is not one of {json.dumps(schema['enum'])[:120]}")
    if "const" in schema and not equal(value, schema["const"]):
        errors.append(f"{path}: must be {json.dumps(schema['const'])[:60]}")
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0) or len(value) > schema.get("maxLength", len(value)):
            errors.append(f"{path}: length {len(value)} is outside the limits")
        if "pattern" in schema:
            try:
                if not re.search(schema["pattern"], value):
                    errors.append(f"{path}: does not match {schema['pattern']}")
            except re.error as problem:
                fail(f"pattern {schema['pattern']} is not understood ({problem}); correct the schema")
        test = FORMATS.get(schema.get("format"))
        if test and not test(value):
            errors.append(f"{path}: {value[:60]!r} is no {schema['format']}")
    if actual in ("integer", "number"):
        holds = {"minimum": lambda bound: value >= bound, "maximum": lambda bound: value <= bound,
                 "exclusiveMinimum": lambda bound: value > bound, "exclusiveMaximum": lambda bound: value < bound}
        for key, test in holds.items():
            if key in schema and not test(schema[key]):
                errors.append(f"{path}: {value} breaks {key} {schema[key]}")
        step = schema.get("multipleOf")
        if step and abs(value / step - round(value / step)) > 1e-9:
            errors.append(f"{path}: {value} is no multiple of {step}")
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0) or len(value) > schema.get("maxItems", len(value)):
            errors.append(f"{path}: {len(value)} items are outside the limits")
        if schema.get("uniqueItems") and any(equal(a, b) for i, a in enumerate(value) for b in value[:i]):
            errors.append(f"{path}: items repeat")
        prefix = schema.get("prefixItems", [])
        for index, item in enumerate(value):
            part = prefix[index] if index < len(prefix) else schema.get("items", True)
            errors += deeper(item, part, f"{path}[{index}]")
    if isinstance(value, dict):
        if len(value) < schema.get("minProperties", 0) or len(value) > schema.get("maxProperties", len(value)):
            errors.append(f"{path}: {len(value)} properties are outside the limits")
        errors += [f"{path}: '{key}' is required" for key in schema.get("required", []) if key not in value]
        for key, item in value.items():
            parts = [part for pattern, part in schema.get("patternProperties", {}).items() if re.search(pattern, key)]
            if key in schema.get("properties", {}):
                parts.append(schema["properties"][key])
            if not parts and "additionalProperties" in schema:
                if schema["additionalProperties"] is False:
                    errors.append(f"{path}: '{key}' is not allowed")
                else:
                    parts = [schema["additionalProperties"]]
            for part in parts:
                errors += deeper(item, part, f"{path}.{key}")
    for part in schema.get("allOf", []):
        errors += deeper(value, part, path)
    if "anyOf" in schema and all(deeper(value, part, path) for part in schema["anyOf"]):
        errors.append(f"{path}: fits none of anyOf")
    if "oneOf" in schema:
        fits = sum(not deeper(value, part, path) for part in schema["oneOf"])
        if fits != 1:
            errors.append(f"{path}: fits {fits} of oneOf, must fit exactly one")
    if "not" in schema and not deeper(value, schema["not"], path):
        errors.append(f"{path}: fits what it must not")
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("infer")
    one.add_argument("samples", nargs="+")
    one.add_argument("--out", required=True)
    one.add_argument("--title")
    one.add_argument("--closed", action="store_true")
    one.add_argument("--no-enum", dest="enum", action="store_false")
    one.add_argument("--each", action="store_true")
    two = commands.add_parser("check")
    two.add_argument("schema")
    two.add_argument("samples", nargs="+")
    two.add_argument("--each", action="store_true")
    args = parser.parse_args()
    samples = [sample for path in args.samples for sample in load(path, args.each)]
    if not samples:
        fail("no samples found; pass at least one JSON value")
    if args.command == "infer":
        warnings = []
        head = {"$schema": "https://json-schema.org/draft/2020-12/schema", **({"title": args.title} if args.title else {})}
        schema = {**head, **infer([value for _, value in samples], args, "$", warnings)}
        broken = [error for _, value in samples for error in validate(value, schema, "$", schema)]
        if broken:
            fail(f"the inferred schema refuses its own sample ({broken[0]}); report this as a bug of the skill")
        if len(samples) < 10:
            warnings.append(f"only {len(samples)} sample(s): required and enum are guesses")
        for message in warnings:
            print(f"WARN {message}")
        print(f"{len(samples)} sample(s) read, all valid against the schema")
        write_text(args.out, json.dumps(schema, indent=2, ensure_ascii=False) + "\n", args.samples)
        return
    schema = load(args.schema, False)[0][1]
    if not isinstance(schema, (dict, bool)):
        fail(f"{args.schema} is no schema; it must be an object")
    for keyword in sorted(unknown_keywords(schema, set())):
        print(f"WARN keyword '{keyword}' is not checked")
    failed = 0
    for where, value in samples:
        errors = validate(value, schema, "$", schema)
        failed += bool(errors)
        for error in errors[:20]:
            print(f"ERROR {where} {error}")
    print(f"{len(samples)} sample(s), {len(samples) - failed} valid, {failed} invalid")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
