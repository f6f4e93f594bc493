"""Group the commits of a git log into a changelog by conventional commits."""
import argparse
import json
import re
import sys
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


GROUPS = {"feat": "Added", "fix": "Fixed", "security": "Security", "perf": "Performance", "refactor": "Changed",
          "deprecate": "Deprecated", "revert": "Reverted", "docs": "Documentation"}
HIDDEN = {"chore": "Chores", "test": "Tests", "tests": "Tests", "ci": "CI", "build": "Build", "style": "Style"}
ALIASES = {"feature": "feat", "bugfix": "fix", "hotfix": "fix", "doc": "docs", "sec": "security"}
SUBJECT = re.compile(r"([A-Za-z]+)(?:\(([^()]{1,100})\))?(!)?:\s+(\S.*)")
FOOTER = re.compile(r"^[A-Za-z][A-Za-z-]*(?:: | #)|^BREAKING[ -]CHANGE: ")


def split_commits(text):
    """Three formats: marked ('@@@ hash | date | author'), git's own, and --oneline."""
    commits = []
    if re.search(r"^@@@ ", text, re.M):
        for block in re.split(r"^@@@ ", text, flags=re.M)[1:]:
            head, _, message = block.partition("\n")
            parts = [part.strip() for part in head.split("|", 2)]
            if not re.fullmatch(r"[0-9a-f]{7,64}", parts[0]):
                fail(f"'@@@ {head[:60]}' has no commit hash; use the format shown in SKILL.md")
            commits.append({"hash": parts[0], "date": parts[1] if len(parts) > 1 else "",
                            "author": parts[2] if len(parts) > 2 else "", "message": message.strip()})
    elif re.search(r"^commit [0-9a-f]{7,64}", text, re.M):
        for block in re.split(r"^commit (?=[0-9a-f]{7,64})", text, flags=re.M)[1:]:
            head, _, message = block.partition("\n\n")
            if re.search(r"^Merge:", head, re.M):
                continue
            author = re.search(r"^Author:\s*(.*?)(?:\s*<|$)", head, re.M)
            date = re.search(r"^(?:Author)?Date:\s*(.*)$", head, re.M)
            lines = [line[4:] if line.startswith("    ") else line for line in message.split("\n")]
            commits.append({"hash": head.split()[0], "date": date.group(1).strip() if date else "",
                            "author": author.group(1) if author else "", "message": "\n".join(lines).strip()})
    else:
        for line in text.split("\n"):
            found = re.match(r"\s*([0-9a-f]{7,64})\s+(?:\([^)]*\)\s+)?(\S.*)", line)
            if found:
                commits.append({"hash": found[1], "date": "", "author": "", "message": found[2]})
            elif line.strip():
                fail(f"line '{line[:60]}' is no git log line; make the file with a command from SKILL.md")
    return commits


def breaking_note(message):
    lines = message.split("\n")
    for index, line in enumerate(lines):
        found = re.match(r"BREAKING[ -]CHANGE:\s*(.*)", line)
        if found:
            parts = [found[1]]
            for following in lines[index + 1:]:
                if not following.strip() or FOOTER.match(following):
                    break
                parts.append(following.strip())
            return " ".join(parts).strip()
    return None


def read_commit(commit):
    subject = commit["message"].split("\n")[0].strip()
    found = SUBJECT.fullmatch(subject)
    note = breaking_note(commit["message"])
    reverted = re.search(r"This reverts commit ([0-9a-f]{7,64})", commit["message"])
    entry = {"hash": commit["hash"], "author": commit["author"], "date": commit["date"], "type": None, "scope": None,
             "text": subject, "breaking": note, "reverts": reverted[1] if reverted else None}
    if found:
        kind = ALIASES.get(found[1].lower(), found[1].lower())
        if kind in GROUPS or kind in HIDDEN:
            entry.update(type=kind, scope=found[2], text=found[4].strip())
            if found[3] and not note:
                entry["breaking"] = found[4].strip()
    if entry["type"] is None and (reverted or subject.startswith('Revert "')):
        entry["type"] = "revert"
    entry["issues"] = sorted({int(n) for n in re.findall(r"(?:^|[\s(])#(\d{1,9})\b", commit["message"])})
    return entry


def same(left, right):
    return left.startswith(right) or right.startswith(left)


def next_version(current, entries):
    found = re.fullmatch(r"v?(\d+)\.(\d+)\.(\d+)", current)
    if not found:
        fail(f"--current '{current}' is no version; write it as 1.4.0")
    major, minor, patch = map(int, found.groups())
    if any(entry["breaking"] is not None for entry in entries):
        return f"{major + 1}.0.0" if major else f"0.{minor + 1}.0"
    if any(entry["type"] == "feat" for entry in entries):
        return f"{major}.{minor + 1}.0"
    return f"{major}.{minor}.{patch + 1}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log")
    parser.add_argument("--out", required=True, help="folder for CHANGELOG.md and changes.json")
    parser.add_argument("--current", help="version before this release, for the suggestion")
    parser.add_argument("--release", help="version of this release")
    parser.add_argument("--date", help="date of this release, 2026-03-04")
    parser.add_argument("--link", help="address of a commit with {hash} in it")
    parser.add_argument("--all", action="store_true", help="show chores, tests, CI, build and style too")
    args = parser.parse_args()
    if args.date and not re.fullmatch(r"\d{4}-\d\d-\d\d", args.date):
        fail("--date must be written as 2026-03-04")
    if args.link and "{hash}" not in args.link:
        fail("--link must contain {hash}")
    entries = [read_commit(commit) for commit in split_commits(read_text(args.log)) if commit["message"]]
    if not entries:
        fail(f"{args.log} holds no commits; make it with a command from SKILL.md")
    gone = set()
    # The newest first: a revert of a revert is met before the revert it undoes.
    for index, entry in enumerate(entries):
        if entry["reverts"] and index not in gone:
            for other, target in enumerate(entries):
                if other != index and other not in gone and same(target["hash"], entry["reverts"]):
                    gone |= {index, other}
    kept, seen, duplicates = [], set(), 0
    for index, entry in enumerate(entries):
        if index in gone:
            continue
        key = (entry["type"], entry["scope"], entry["text"].lower())
        if key in seen:
            duplicates += 1
            continue
        seen.add(key)
        kept.append(entry)
    shown = [e for e in kept if e["breaking"] is not None or e["type"] not in HIDDEN or args.all]
    suggestion = next_version(args.current, kept) if args.current else None
    release = args.release or suggestion or "Unreleased"

    def line(entry, text):
        scope = f"**{entry['scope']}:** " if entry["scope"] else ""
        short = entry["hash"][:7]
        mark = f"[{short}]({args.link.replace('{hash}', entry['hash'])})" if args.link else short
        return f"- {scope}{text.replace('<', '&lt;')} ({mark})"

    md = [f"## {release}" + (f" - {args.date}" if args.date else ""), ""]
    breaking = [entry for entry in shown if entry["breaking"] is not None]
    if breaking:
        md += ["### Breaking changes", ""] + [line(entry, entry["breaking"]) for entry in breaking] + [""]
    headings = {**GROUPS, **HIDDEN}
    for heading in dict.fromkeys(headings.values()):
        group = [entry for entry in shown if entry["type"] and headings[entry["type"]] == heading]
        if group:
            md += [f"### {heading}", ""] + [line(entry, entry["text"]) for entry in group] + [""]
    other = [entry for entry in shown if entry["type"] is None]
    if other:
        md += ["### Other changes", ""] + [line(entry, entry["text"]) for entry in other] + [""]
    totals = {"commits": len(entries), "listed": len(shown), "hidden": len(kept) - len(shown), "reverted": len(gone),
              "duplicates": duplicates}
    if totals["commits"] != totals["listed"] + totals["hidden"] + totals["reverted"] + totals["duplicates"]:
        fail("the commits do not add up; report this log as a bug of the skill")
    result = {"release": release, "suggested": suggestion, "totals": totals, "breaking": breaking,
              "unconventional": other, "entries": kept}
    print(" ".join(f"{key}={value}" for key, value in totals.items()) + (f" suggested={suggestion}" if suggestion else ""))
    out = Path(args.out)
    write_text(out / "CHANGELOG.md", "\n".join(md).rstrip() + "\n", [args.log])
    write_text(out / "changes.json", json.dumps(result, indent=2, ensure_ascii=False) + "\n", [args.log])


if __name__ == "__main__":
    main()
