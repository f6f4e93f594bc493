"""Check a README: structure, links, anchors, code fences, commands; 60 points of the rubric."""
import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

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


LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\]\([^()]*\)|\[[^\[\]]*\])*)\]\(\s*<?([^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)>?(?:\s+[\"'(][^)]*)?\)")
REFERENCE = re.compile(r"^\s{0,3}\[([^\]]+)\]:\s*<?(\S+?)>?(?:\s|$)")
HTML_LINK = re.compile(r"<(?:a|img)\b[^>]*?\b(href|src)=[\"']([^\"']*)[\"'][^>]*>", re.I)
FILLER = re.compile(r"\b(?:TODO|TBD|FIXME|lorem ipsum|coming soon|your[- ]?(?:name|project|username)[- ]?here)\b|<your[ -]", re.I)
FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})\s*([^`\s]*)")


def slug(text, seen):
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"<[^>]+>|[*`]", "", text).strip().lower()
    base = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
    seen[base] += 1
    return base if seen[base] == 1 else f"{base}-{seen[base] - 1}"


def parse(text):
    lines = text.split("\n")
    headings, fences, prose = [], [], []
    fence = None
    for number, line in enumerate(lines, 1):
        line = line[:20000]
        found = FENCE.match(line)
        if fence:
            if found and found[1][0] == fence["mark"][0] and len(found[1]) >= len(fence["mark"]) and not found[2]:
                fence["closed"] = True
                fence = None
            else:
                fence["lines"].append((number, line))
            continue
        if found:
            fence = {"line": number, "mark": found[1], "language": found[2].lower(), "lines": [], "closed": False}
            fences.append(fence)
            continue
        found = re.match(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$", line)
        if found:
            headings.append({"line": number, "level": len(found[1]), "text": found[2]})
        elif re.fullmatch(r"\s{0,3}(=+|-{2,})\s*", line) and prose and prose[-1][0] == number - 1 and prose[-1][1].strip() \
                and not prose[-1][1].lstrip().startswith(("|", "-", "*", ">")):
            headings.append({"line": number - 1, "level": 1 if "=" in line else 2, "text": prose.pop()[1].strip()})
            continue
        found = re.search(r"<h([1-6])[^>]*>(.*?)</h\1>", line, re.I)
        if found:
            headings.append({"line": number, "level": int(found[1]), "text": re.sub(r"<[^>]+>", "", found[2])})
        prose.append((number, line))
    return headings, fences, prose


def commands(fences):
    for fence in fences:
        if fence["language"] in ("", "sh", "bash", "shell", "console", "zsh", "shell-session"):
            for number, line in fence["lines"]:
                text = re.sub(r"^\s*[$>]\s+", "", line).strip()
                if text and not text.startswith("#"):
                    yield number, text


def check_commands(fences, root, add):
    scripts, targets = None, None
    if (root / "package.json").is_file():
        try:
            scripts = set(json.loads((root / "package.json").read_text(encoding="utf-8")).get("scripts", {}))
        except (ValueError, AttributeError, OSError):
            add("warning", 0, "package", "package.json cannot be read; npm commands were not checked")
    if (root / "Makefile").is_file():
        targets = set(re.findall(r"^([\w.-]+)\s*:(?!=)", (root / "Makefile").read_text(encoding="utf-8", errors="replace"), re.M))
    count = 0
    for number, text in commands(fences):
        count += 1
        found = re.search(r"\b(?:npm|pnpm|yarn) run ([\w:.-]+)", text)
        if found and scripts is not None and found[1] not in scripts:
            add("error", number, "command", f"'{found[0]}': package.json has no script '{found[1]}'")
        found = re.match(r"make ([A-Za-z][\w.-]*)(?:\s|$)", text)
        if found and targets is not None and found[1] not in targets:
            add("error", number, "command", f"'{found[0].strip()}': the Makefile has no target '{found[1]}'")
        found = re.match(r"(?:(?:bash|sh|python3?|node|source|\.)\s+)?(\.{1,2}/[\w./-]+|[\w-]+(?:/[\w.-]+)*\.(?:sh|py|mjs|js|ts))(?:\s|$)", text)
        if found and not (root / found[1]).exists() and not re.search(r"\bcd\b|\bclone\b", text):
            add("warning", number, "command", f"'{found[1]}' does not exist below the root")
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readme")
    parser.add_argument("--root", help="the repository; default: the README's folder")
    parser.add_argument("--out", required=True, help="folder for readme-check.json and readme-check.md")
    args = parser.parse_args()
    text = read_text(args.readme)
    if not text.strip():
        fail(f"{args.readme} is empty; there is nothing to review")
    readme = Path(args.readme).resolve()
    root = Path(args.root).resolve() if args.root else readme.parent
    if not root.is_dir():
        fail(f"--root {args.root} is not a folder; pass the repository")
    base = readme.parent if readme.is_relative_to(root) else root
    findings = []

    def add(severity, line, code, message):
        findings.append({"severity": severity, "line": line, "code": code, "message": message})

    headings, fences, prose = parse(text)
    seen = Counter()
    anchors = {slug(heading["text"], seen) for heading in headings}
    anchors |= set(re.findall(r"<[^>]+\b(?:id|name)=[\"']([^\"']+)[\"']", text))
    titles = [heading for heading in headings if heading["level"] == 1]
    if len(titles) != 1:
        add("warning", titles[1]["line"] if titles else 1, "title", f"{len(titles)} titles of level 1; one is right")
    elif headings[0]["level"] != 1:
        add("warning", titles[0]["line"], "title", "the title is not the first heading")
    for before, after in zip(headings, headings[1:]):
        if after["level"] > before["level"] + 1:
            add("warning", after["line"], "heading-level", f"'{after['text'][:60]}' skips from level {before['level']} to {after['level']}")
    repeated = [name for name, count in Counter(h["text"].lower() for h in headings).items() if count > 1]
    for name in repeated:
        add("info", next(h["line"] for h in reversed(headings) if h["text"].lower() == name), "heading-twice", f"heading '{name[:60]}' occurs twice")
    for fence in fences:
        if not fence["closed"]:
            add("error", fence["line"], "fence-open", "this code fence is never closed; the rest is shown as code")
        elif not fence["language"]:
            add("warning", fence["line"], "fence-language", "code fence without a language")
        if not any(line.strip() for _, line in fence["lines"]):
            add("warning", fence["line"], "fence-empty", "empty code fence")
    links = 0
    defined = {found[1].lower() for _, line in prose if (found := REFERENCE.match(line))}
    for number, line in prose:
        bare = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", lambda m: " " * len(m[0]), line)
        targets = [(bool(m[1]), m[2], m[3]) for m in LINK.finditer(bare)]
        targets += [(m[1] == "src", "html", m[2]) for m in HTML_LINK.finditer(bare)]
        for inner in re.finditer(r"!\[([^\]]*)\]\(([^()\s]*)", " ".join(m[2] for m in LINK.finditer(bare))):
            targets.append((True, inner[1], inner[2]))
        reference = REFERENCE.match(bare)
        if reference:
            targets.append((False, reference[1], reference[2]))
        for found in re.finditer(r"\[[^\[\]]+\]\[([^\[\]]+)\]", bare):
            if found[1].lower() not in defined:
                add("error", number, "dead-reference", f"[{found[1][:60]}] is never defined")
        for image, label, target in targets:
            links += 1
            if image and not label.strip():
                add("warning", number, "alt", f"image {target[:80]} has no alternative text")
            if not target:
                add("error", number, "dead-link", f"link '{label[:60]}' leads nowhere")
            elif re.match(r"[a-z][a-z0-9+.-]*:|//", target, re.I):
                continue
            elif target.startswith("#"):
                if unquote(target[1:]).lower() not in anchors and target != "#":
                    add("error", number, "dead-anchor", f"no heading for {target[:80]}")
            else:
                path = unquote(re.split(r"[?#]", target)[0])
                goal = (root / path.lstrip("/") if path.startswith("/") else base / path).resolve()
                if not goal.is_relative_to(root):
                    add("warning", number, "outside", f"{target[:80]} leads out of the repository")
                elif not goal.exists():
                    add("error", number, "dead-link", f"{target[:80]} does not exist")
        if FILLER.search(bare):
            add("warning", number, "placeholder", f"placeholder text: '{FILLER.search(bare)[0]}'")
    count = check_commands(fences, root, add)
    for number, text_ in commands(fences):
        if re.search(r"curl [^|]*\|\s*(?:sudo )?(?:ba|z)?sh\b", text_):
            add("warning", number, "pipe-to-shell", "asks readers to run a download unseen; offer another way")
    names = " \n".join(h["text"].lower() for h in headings)
    second = headings[1]["line"] if len(headings) > 1 else 10**9
    intro = " ".join(line for number, line in prose if number < second and not line.lstrip().startswith(("#", "[!", "![", "<")))
    words = len(re.findall(r"[^\W\d_]{2,}", FILLER.sub("", intro)))
    codes = Counter(finding["code"] for finding in findings)
    whole = text.lower()
    points = {
        "title": (6, len(titles) == 1 and headings[0]["level"] == 1),
        "description": (8, words >= 8),
        "install": (8, bool(re.search(r"install|getting started|quick ?start|set ?up|requirements", names))),
        "usage": (8, bool(re.search(r"usage|example|how to|quick ?start|getting started|tutorial|commands", names))),
        "code": (6, any(any(line.strip() for _, line in fence["lines"]) for fence in fences)),
        "license": (4, bool(re.search(r"\blicen[sc]e", whole))),
        "contributing": (3, bool(re.search(r"contribut|support|contact|report (?:a )?bug|issues", whole))),
        "links": (8, not (codes["dead-link"] or codes["dead-anchor"] or codes["dead-reference"])),
        "form": (5, not (codes["fence-open"] or codes["fence-language"] or codes["heading-level"])),
        "commands": (4, not (codes["command"] or codes["placeholder"])),
    }
    score = sum(worth for worth, reached in points.values() if reached)
    findings.sort(key=lambda f: (("error", "warning", "info").index(f["severity"]), f["line"]))
    errors = sum(f["severity"] == "error" for f in findings)
    result = {"score": score, "of": 60, "points": {key: {"worth": worth, "reached": reached} for key, (worth, reached) in points.items()},
              "counts": {"headings": len(headings), "links": links, "code_blocks": len(fences), "commands": count,
                         "words": len(text.split())}, "findings": findings}
    md = ["# README check", "", f"**{score} of 60** (the script's half; see the rubric)", "", "| Check | Worth | Reached |", "| --- | --- | --- |"]
    md += [f"| {key} | {worth} | {'yes' if reached else 'no'} |" for key, (worth, reached) in points.items()]
    md += ["", "## Findings", ""] + ([f"- {f['severity']}, line {f['line']}, {f['code']}: {f['message']}".replace("<", "&lt;") for f in findings] or ["None."])
    for f in findings:
        print(f"{f['severity'].upper()} line {f['line']} {f['code']}: {f['message']}")
    print(f"score {score} of 60, {errors} error(s), {len(findings) - errors} other finding(s)")
    out = Path(args.out)
    write_text(out / "readme-check.json", json.dumps(result, indent=2, ensure_ascii=False) + "\n", [args.readme])
    write_text(out / "readme-check.md", "\n".join(md) + "\n", [args.readme])
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
