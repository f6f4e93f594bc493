"""Make a checklist from a template, record evidence, verify that the release is ready."""
import argparse
import hashlib
import json
import re
import sys
from datetime import datetime, timezone
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


def scalar(text, where):
    text = text.strip()
    if text[:1] in "\"'" and text:
        if len(text) < 2 or text[-1] != text[0]:
            fail(f"{where}: the quote is not closed")
        return text[1:-1].replace('\\"', '"') if text[0] == '"' else text[1:-1].replace("''", "'")
    if text.startswith("["):
        if not text.endswith("]"):
            fail(f"{where}: a list must close with ] on the same line")
        return [scalar(part, where) for part in text[1:-1].split(",") if part.strip()]
    if text[:1] in ("|", ">", "&", "*") and text or (text.startswith("{") and not text.startswith("{{")):
        fail(f"{where}: '{text[:20]}' is outside the subset; see references/template-format.md")
    if text in ("true", "false"):
        return text == "true"
    if text in ("null", "~", ""):
        return None
    return int(text) if re.fullmatch(r"-?\d{1,15}", text) else text


def strip_comment(line):
    quote = None
    for index, char in enumerate(line):
        if quote:
            quote = None if char == quote else quote
        elif char in "\"'" and (index == 0 or line[index - 1] in " [,"):
            quote = char
        elif char == "#" and (index == 0 or line[index - 1] == " "):
            return line[:index]
    return line


def parse_yaml(text, path):
    """The subset of YAML described in references/template-format.md."""
    lines = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = strip_comment(raw).rstrip()
        if not line.strip() or line.strip() == "---":
            continue
        if "\t" in line[:len(line) - len(line.lstrip())]:
            fail(f"{path}:{number}: indent with spaces, not tabs")
        lines.append([len(line) - len(line.lstrip()), line.strip(), f"{path}:{number}"])
    place = 0

    def block(indent):
        nonlocal place
        is_list = lines[place][1] == "-" or lines[place][1].startswith("- ")
        result = [] if is_list else {}
        while place < len(lines) and lines[place][0] == indent:
            _, content, where = lines[place]
            if is_list:
                if not (content == "-" or content.startswith("- ")):
                    break
                rest = content[1:].strip()
                if re.match(r"[\w-]+:(?:\s|$)", rest):
                    lines[place] = [indent + len(content) - len(content[1:].lstrip()), rest, where]
                    result.append(block(lines[place][0]))
                    continue
                place += 1
                if rest:
                    result.append(scalar(rest, where))
                else:
                    result.append(block(lines[place][0]) if place < len(lines) and lines[place][0] > indent else None)
                continue
            found = re.match(r"([\w-]+):(?:\s+(.*)|$)", content)
            if not found:
                fail(f"{where}: expected 'key: value', found '{content[:40]}'")
            if found[1] in result:
                fail(f"{where}: key '{found[1]}' occurs twice")
            place += 1
            if found[2]:
                result[found[1]] = scalar(found[2], where)
            elif place < len(lines) and (lines[place][0] > indent or (lines[place][0] == indent and lines[place][1].startswith("- "))):
                result[found[1]] = block(lines[place][0])
            else:
                result[found[1]] = None
        if place < len(lines) and lines[place][0] > indent:
            fail(f"{lines[place][2]}: unexpected indentation")
        return result

    if not lines:
        fail(f"{path} is empty; start from assets/release.yaml")
    result = block(lines[0][0])
    if place < len(lines):
        fail(f"{lines[place][2]}: unexpected indentation")
    return result


def load_json(path):
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as problem:
        fail(f"{path} is not JSON ({problem}); make the plan with 'new'")


def fill(value, variables, missing):
    if isinstance(value, str):
        def put(found):
            if found[1] not in variables:
                missing.add(found[1])
            return variables.get(found[1], "")
        return re.sub(r"\{\{\s*([\w-]+)\s*\}\}", put, value)
    if isinstance(value, list):
        return [fill(item, variables, missing) for item in value]
    if isinstance(value, dict):
        return {key: fill(item, variables, missing) for key, item in value.items()}
    return value


def items_of(plan, path):
    sections = plan.get("sections") if isinstance(plan, dict) else None
    if not isinstance(sections, list) or not sections:
        fail(f"{path} needs a list 'sections'; see references/template-format.md")
    items = {}
    for section in sections:
        if not isinstance(section, dict) or not section.get("name") or not isinstance(section.get("items"), list):
            fail(f"{path}: every section needs 'name' and a list 'items'")
        for item in section["items"]:
            if not isinstance(item, dict) or not re.fullmatch(r"[a-z0-9][a-z0-9-]*", str(item.get("id", ""))):
                fail(f"{path}: an item in '{section['name']}' has no valid 'id'")
            if item["id"] in items:
                fail(f"{path}: id '{item['id']}' occurs twice")
            if not isinstance(item.get("text"), str) or not item["text"].strip():
                fail(f"{path}: item '{item['id']}' has no 'text'")
            if item.get("evidence", "any") not in ("file", "link", "note", "any"):
                fail(f"{path}: item '{item['id']}': evidence must be file, link, note or any")
            if not isinstance(item.get("required", True), bool) or not isinstance(item.get("needs", []), list):
                fail(f"{path}: item '{item['id']}': required must be true or false, needs a list")
            items[item["id"]] = item
    for item in items.values():
        for need in item.get("needs", []):
            if need not in items:
                fail(f"{path}: item '{item['id']}' needs '{need}', which does not exist")
    state = {}

    def visit(name):
        if state.get(name) == 1:
            fail(f"{path}: the needs of '{name}' go round in a circle")
        if name not in state:
            state[name] = 1
            for need in items[name].get("needs", []):
                visit(need)
            state[name] = 2
    for name in items:
        visit(name)
    return items


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def read_log(path, items):
    records = []
    if not Path(path).exists():
        return records
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            try:
                record = json.loads(line)
                if record["item"] not in items or record["status"] not in ("done", "failed", "skipped"):
                    raise ValueError("unknown item or status")
                records.append(record)
            except (ValueError, KeyError, TypeError) as problem:
                fail(f"{path}:{number}: not a record of this plan ({problem}); the log must not be edited")
    return records


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    new = commands.add_parser("new")
    new.add_argument("template")
    new.add_argument("--out", required=True)
    new.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    record = commands.add_parser("record")
    record.add_argument("plan")
    record.add_argument("--log", required=True)
    record.add_argument("--item", required=True)
    record.add_argument("--status", required=True, choices=["done", "failed", "skipped"])
    record.add_argument("--by", required=True)
    record.add_argument("--file")
    record.add_argument("--link")
    record.add_argument("--note")
    verify = commands.add_parser("verify")
    verify.add_argument("plan")
    verify.add_argument("--log", required=True)
    verify.add_argument("--out", help="Markdown file")
    args = parser.parse_args()
    if args.command == "new":
        text = read_text(args.template)
        template = load_json(args.template) if text.lstrip().startswith("{") and not text.lstrip().startswith("{{") \
            else parse_yaml(text, args.template)
        variables, missing = {}, set()
        for pair in args.set:
            name, equals, value = pair.partition("=")
            if not equals:
                fail(f"--set {pair}: write NAME=VALUE")
            variables[name] = value
        plan = fill(template, variables, missing)
        if missing:
            fail(f"the template needs: {' '.join(f'--set {name}=…' for name in sorted(missing))}")
        items = items_of(plan, args.template)
        if Path(args.out).exists():
            fail(f"{args.out} exists; choose another path, plans are not replaced")
        print(f"{len(items)} item(s), {sum(item.get('required', True) for item in items.values())} required")
        write_text(args.out, json.dumps(plan, indent=2, ensure_ascii=False) + "\n", [args.template])
        return
    plan = load_json(args.plan)
    items = items_of(plan, args.plan)
    if args.command == "record":
        if args.item not in items:
            fail(f"no item '{args.item}'; items are: {', '.join(items)}")
        wanted = items[args.item].get("evidence", "any")
        given = {"file": args.file, "link": args.link, "note": args.note}
        if args.status == "done" and not (any(given.values()) if wanted == "any" else given[wanted]):
            fail(f"'{args.item}' needs evidence: --{wanted if wanted != 'any' else 'file, --link or --note'}")
        if args.status != "done" and not args.note:
            fail(f"--status {args.status} needs --note with the reason")
        if args.file and not Path(args.file).is_file():
            fail(f"{args.file} is not a file; write the evidence first")
        if Path(args.log).exists() and Path(args.log).samefile(args.plan):
            fail("--log is the plan; choose another path")
        read_log(args.log, items)
        entry = {"item": args.item, "status": args.status, "by": args.by,
                 "at": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                 **{key: value for key, value in given.items() if value}}
        if args.file:
            entry["sha256"] = digest(args.file)
        Path(args.log).parent.mkdir(parents=True, exist_ok=True)
        with open(args.log, "a", encoding="utf-8", newline="\n") as log:
            log.write(json.dumps(entry, ensure_ascii=False) + "\n")
        print(f"recorded {args.item}: {args.status}")
        return
    records = read_log(args.log, items)
    latest, order, problems = {}, {}, []
    for index, entry in enumerate(records):
        latest[entry["item"]], order[entry["item"]] = entry, index
    for name, item in items.items():
        entry = latest.get(name)
        if item.get("required", True) and (entry is None or entry["status"] != "done"):
            problems.append(f"{name}: {'open' if entry is None else entry['status']}"
                            + (f" ({entry['note']})" if entry and entry.get("note") else ""))
        if entry and entry["status"] == "done":
            for need in item.get("needs", []):
                if latest.get(need, {}).get("status") != "done":
                    problems.append(f"{name}: done, but it needs '{need}', which is not done")
                elif order[need] > order[name]:
                    problems.append(f"{name}: recorded before '{need}', which it needs; check and record it again")
            if entry.get("file"):
                if not Path(entry["file"]).is_file():
                    problems.append(f"{name}: the evidence {entry['file']} is gone")
                elif digest(entry["file"]) != entry.get("sha256"):
                    problems.append(f"{name}: the evidence {entry['file']} changed after it was recorded")
    ready = not problems
    cell = lambda value: str(value).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
    md = [f"# {cell(plan.get('title') or 'Checklist')}", "", "**Ready.**" if ready else "**Not ready.**", ""]
    md += [f"- {cell(problem)}" for problem in problems] + ([""] if problems else [])
    for section in plan["sections"]:
        md += [f"## {cell(section['name'])}", "", "| | Item | Status | By | Evidence |", "| --- | --- | --- | --- | --- |"]
        for item in section["items"]:
            entry = latest.get(item["id"], {})
            proof = "; ".join(str(entry[key]) for key in ("note", "link", "file") if entry.get(key))
            if entry.get("sha256"):
                proof += f" (sha256 {entry['sha256'][:12]})"
            text = item["text"] + ("" if item.get("required", True) else " (optional)")
            md.append(f"| {'x' if entry.get('status') == 'done' else ' '} | {cell(text)} | {entry.get('status', 'open')} | "
                      f"{cell(entry.get('by') or item.get('owner') or '')} | {cell(proof)} |")
        md.append("")
    for problem in problems:
        print(f"ERROR {problem}")
    done = sum(entry["status"] == "done" for entry in latest.values())
    print(f"{'READY' if ready else 'NOT READY'}: {done} of {len(items)} done, {len(problems)} problem(s)")
    if args.out:
        write_text(args.out, "\n".join(md).rstrip() + "\n", [args.plan, args.log])
    sys.exit(0 if ready else 1)


if __name__ == "__main__":
    main()
