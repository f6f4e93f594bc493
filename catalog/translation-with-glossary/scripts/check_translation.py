"""Check a translation against its source and a glossary."""
import argparse
import csv
import io
import json
import re
import sys
from collections import Counter
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


PLACEHOLDER = re.compile(r"\$\{[^{}]*\}|\{\{[^{}]*\}\}|\{[A-Za-z_0-9.]*\}|%\(\w+\)[sdif]|%\d+\$[sdif@]|%[-+0#]?\d*(?:\.\d+)?[sdifux@]|"
                         r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>")
LINK = re.compile(r"https?://[^\s<>\"')\]]+|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
NUMBER = re.compile(r"\d+(?:[.,' \u00a0\u202f’]\d+)*")
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")


def flatten(value, prefix, out, path):
    if isinstance(value, dict):
        for key, item in value.items():
            flatten(item, f"{prefix}.{key}" if prefix else key, out, path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            flatten(item, f"{prefix}[{index}]", out, path)
    elif isinstance(value, str):
        out[prefix] = value
    elif value is not None and not isinstance(value, (int, float)):
        fail(f"{path}: '{prefix}' is not text")


def read_csv(path):
    csv.field_size_limit(MAX_BYTES)
    text = read_text(path)
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)
    try:
        rows = list(csv.DictReader(io.StringIO(text), delimiter=delimiter))
        names = [name.strip().lower() for name in (csv.reader(io.StringIO(head), delimiter=delimiter).__next__() if head else [])]
    except csv.Error as problem:
        fail(f"{path} is not readable as CSV ({problem}); check its quotes")
    return names, [{(key or "").strip().lower(): (value or "").strip() if isinstance(value, (str, type(None))) else ""
                    for key, value in row.items()} for row in rows]


def read_strings(path):
    if Path(path).suffix.lower() == ".json":
        out = {}
        try:
            flatten(json.loads(read_text(path)), "", out, path)
        except (ValueError, RecursionError) as problem:
            fail(f"{path} is not JSON ({problem}); correct it first")
        return out
    lines = read_text(path).split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    return {f"line {number}": line for number, line in enumerate(lines, 1)}


def read_glossary(path):
    names, rows = read_csv(path)
    if "source" not in names or "target" not in names:
        fail(f"{path} needs the columns source and target in its first line; see assets/glossary.csv")
    split = lambda text: [part.strip() for part in (text or "").split("|") if part.strip()]
    terms = [{"source": split(row.get("source")), "target": split(row.get("target")), "forbidden": split(row.get("forbidden")),
              "case": (row.get("case") or "").lower() in ("yes", "true", "1", "x")} for row in rows]
    terms = [term for term in terms if term["source"] or term["forbidden"]]
    if not terms:
        fail(f"{path} holds no terms; add lines such as invoice,Rechnung")
    return terms


def has(text, term, case, whole):
    """whole: the source side, where only an English-like plural may follow; else the term may begin a longer word."""
    flags = 0 if case else re.I
    pattern = re.escape(term).replace(r"\ ", r"\s+")
    if CJK.search(term):
        return re.search(pattern, text, flags) is not None
    tail = r"(?:e?s)?(?!\w)" if whole else ""
    return re.search(rf"(?<!\w){pattern}{tail}", text, flags) is not None


def digits(text):
    bare = PLACEHOLDER.sub(" ", LINK.sub(" ", text))
    return Counter(digit for found in NUMBER.findall(bare)
                   for digit in [re.sub(r"\D", "", found)]), bare


def same_numbers(source, target):
    left, right = digits(source)[0], digits(target)[0]
    if left == right:
        return True
    # "1 234" may be one number or two: the same digits in the same order are the same numbers.
    row = lambda text: re.sub(r"\D", "", digits(text)[1])
    return sum(left.values()) != sum(right.values()) and row(source) == row(target)


def check_pair(key, source, target, terms, report):
    if not target.strip():
        if source.strip():
            report("error", "empty", key, "no translation")
        return
    if not source.strip():
        report("error", "extra", key, "translation without a source")
        return
    used = False
    for term in terms:
        hit = next((word for word in term["source"] if has(source, word, term["case"], True)), None)
        if hit:
            used = True
            if term["target"] and not any(has(target, word, term["case"], False) for word in term["target"]):
                report("error", "term", key, f"'{hit}' must be translated as '{' or '.join(term['target'])}'")
        for word in term["forbidden"]:
            if has(target, word, term["case"], False):
                report("error", "forbidden", key, f"'{word}' must not be used")
    left, right = Counter(PLACEHOLDER.findall(source)), Counter(PLACEHOLDER.findall(target))
    if left != right:
        lost, added = list((left - right).elements()), list((right - left).elements())
        report("error", "placeholder", key, "; ".join(filter(None, [lost and f"lost {' '.join(lost)}", added and f"added {' '.join(added)}"])))
    links = lambda text: Counter(link.rstrip(".,;:!?") for link in LINK.findall(text))
    if links(source) != links(target):
        report("error", "link", key, "links or addresses differ")
    if not same_numbers(source, target):
        show = lambda text: " ".join(NUMBER.findall(digits(text)[1])) or "none"
        report("error", "number", key, f"numbers differ: {show(source)} / {show(target)}")
    bare = PLACEHOLDER.sub("", LINK.sub("", source))
    if source == target and not used and len(re.findall(r"[^\W\d_]", bare)) >= 4:
        report("warning", "same", key, "identical to the source; is it translated?")
    if (source[:1].isspace(), source[-1:].isspace()) != (target[:1].isspace(), target[-1:].isspace()):
        report("warning", "spaces", key, "spaces at the ends differ")
    ending = lambda text: {"：": ":", "？": "?", "！": "!", "...": "…"}.get(text[-1:], text[-1:]) if text else ""
    a, b = ending(source.strip().replace("...", "…")), ending(target.strip().replace("...", "…"))
    if a != b and (a in ":…?!" or b in ":…?!"):
        report("warning", "ending", key, f"ends with '{b}', the source with '{a}'")
    if len(source) >= 20 and not CJK.search(source + target) and not 0.4 <= len(target) / len(source) <= 2.5:
        report("warning", "length", key, f"{len(target)} characters for {len(source)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", help="text or JSON; leave out if --target is a CSV with source and target")
    parser.add_argument("--target", required=True)
    parser.add_argument("--glossary", required=True)
    parser.add_argument("--out", required=True, help="Markdown report")
    args = parser.parse_args()
    terms = read_glossary(args.glossary)
    if args.source:
        source, target = read_strings(args.source), read_strings(args.target)
    else:
        if Path(args.target).suffix.lower() != ".csv":
            fail("give --source, or a --target CSV with the columns key, source and target")
        names, rows = read_csv(args.target)
        if "source" not in names or "target" not in names:
            fail(f"{args.target} needs the columns source and target (and key)")
        keys = [row.get("key") or f"row {number}" for number, row in enumerate(rows, 1)]
        source = {key: row["source"] or "" for key, row in zip(keys, rows)}
        target = {key: row["target"] or "" for key, row in zip(keys, rows)}
    if not source:
        fail("the source holds no text; nothing to check")
    findings = []
    report = lambda severity, code, key, text: findings.append((severity, code, key, text))
    for key in source:
        if key not in target:
            if source[key].strip():
                report("error", "missing", key, "no translation")
        else:
            check_pair(key, source[key], target[key], terms, report)
    for key in target:
        if key not in source:
            report("error", "extra", key, "the source has no such entry")
    findings.sort(key=lambda finding: finding[0])
    errors = sum(finding[0] == "error" for finding in findings)
    cell = lambda text: str(text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
    md = ["# Translation check", "", f"{len(source)} entries, {errors} error(s), {len(findings) - errors} warning(s).", ""]
    if findings:
        md += ["| Severity | Code | Entry | Finding | Translation |", "| --- | --- | --- | --- | --- |"]
        md += [f"| {severity} | {code} | {cell(key)} | {cell(text)} | {cell(target.get(key, '')[:120])} |"
               for severity, code, key, text in findings]
    for severity, code, key, text in findings:
        print(f"{severity.upper()} {code} {key}: {text}")
    print(f"{len(source)} entries, {errors} error(s), {len(findings) - errors} warning(s)")
    write_text(args.out, "\n".join(md).rstrip() + "\n", [path for path in (args.source, args.target, args.glossary) if path])
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
