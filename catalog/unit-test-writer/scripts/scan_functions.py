"""List functions in Python, JavaScript and TypeScript and those that no test mentions. Static: runs nothing."""
import argparse
import ast
import json
import os
import re
import sys
import warnings
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


JS = {".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"}
SKIP = {"node_modules", "dist", "build", "out", "coverage", "vendor", "venv", "env", "__pycache__", "target", "site-packages"}
TEST_NAME = re.compile(r"(?:^test_.*\.py|.*_test\.py|^conftest\.py|.*[.-](?:test|spec)\.[cm]?[jt]sx?)$")
TEST_FOLDER = {"test", "tests", "__tests__", "spec", "specs", "e2e"}
NOT_NAMES = {"if", "for", "while", "switch", "catch", "function", "return", "with", "constructor", "super", "await", "typeof",
             "new", "else", "do", "import", "export", "default", "case", "of", "in", "void", "delete", "throw", "yield"}
PREFIX = r"(?:(?P<export>export\s+)(?:default\s+)?)?"
DECLARED = re.compile(rf"(?:^|[;{{}}\s]){PREFIX}(?:async\s+)?function\s*\*?\s*(?P<name>[A-Za-z_$][\w$]*)\s*(?:<[^()]*>)?\s*\(", re.M)
ASSIGNED = re.compile(rf"(?:^|[;{{}}\s]){PREFIX}(?:const|let|var)\s+(?P<name>[A-Za-z_$][\w$]*)\s*(?::[^=\n]+?)?=\s*(?:async\s*)?"
                      r"(?:function\b|(?:<[^()]*?>\s*)?\((?P<args>[^()]*(?:\([^()]*\)[^()]*)*)\)\s*(?::[^=\n]+?)?=>|[A-Za-z_$][\w$]*\s*=>)", re.M)
METHOD = re.compile(r"^[ \t]+(?:(?:public|private|protected|static|async|override|readonly|get|set)\s+)*\*?(?P<name>#?[A-Za-z_$][\w$]*)"
                    r"\s*(?:<[^()\n]*>)?\((?P<args>[^(){}]*(?:\([^()]*\)[^(){}]*)*)\)\s*(?::[^={\n]+)?\{", re.M)
BRANCH = re.compile(r"\b(?:if|for|while|case|catch)\b|&&|\|\||\?\?|\?(?![.:,)])")


def blank_out(text):
    """JavaScript with the contents of comments, texts and patterns replaced by spaces; the length stays."""
    out, place, last = list(text), 0, ""
    depth = []

    def wipe(start, end):
        for index in range(start, min(end, len(out))):
            if out[index] != "\n":
                out[index] = " "
    while place < len(text):
        char, pair = text[place], text[place:place + 2]
        if pair == "//":
            end = text.find("\n", place)
            end = len(text) if end < 0 else end
            wipe(place, end)
            place = end
            continue
        if pair == "/*":
            end = text.find("*/", place + 2)
            end = len(text) if end < 0 else end + 2
            wipe(place, end)
            place = end
            continue
        if char in "'\"" or char == "`" or (char == "}" and depth and depth[-1] == 0):
            if char == "}":
                depth.pop()
            quote, end = ("`" if char in "`}" else char), place + 1
            while end < len(text) and text[end] != quote:
                if quote != "`" and text[end] == "\n":
                    break
                if quote == "`" and text[end:end + 2] == "${":
                    depth.append(0)
                    end += 1
                    break
                end += 2 if text[end] == "\\" else 1
            wipe(place + 1, end)
            place, last = end + 1, quote
            continue
        if char == "/" and (not last or last in "(,=:[!&|?{};+-*%<>~^" or re.search(r"\b(?:return|typeof|case|in|of)\s*$", text[max(0, place - 10):place])):
            end, bracket = place + 1, False
            while end < len(text) and text[end] != "\n" and (bracket or text[end] != "/"):
                bracket = (text[end] == "[") or (bracket and text[end] != "]")
                end += 2 if text[end] == "\\" else 1
            wipe(place + 1, end)
            place, last = end + 1, "/"
            continue
        if depth and char in "{}":
            depth[-1] += 1 if char == "{" else -1
        if not char.isspace():
            last = char
        place += 1
    return "".join(out)


def body_end(code, start):
    """The end of a function's body that begins at or after start."""
    brace = code.find("{", start)
    line = code.find("\n", start)
    line = len(code) if line < 0 else line
    if brace < 0 or brace > line + 200:
        return line
    level = 0
    for index in range(brace, len(code)):
        level += (code[index] == "{") - (code[index] == "}")
        if level == 0:
            return index + 1
    return len(code)


def scan_js(text):
    code = blank_out(text)
    listed = set()
    for block in re.findall(r"\bexport\s*\{([^}]*)\}|module\.exports\s*=\s*\{([^}]*)\}", code):
        listed |= set(re.findall(r"[A-Za-z_$][\w$]*", " ".join(block)))
    found = {}
    for pattern, kind in ((DECLARED, "function"), (ASSIGNED, "function"), (METHOD, "method")):
        for match in pattern.finditer(code):
            name = match["name"]
            if name in NOT_NAMES:
                continue
            start = match.start("name")
            if kind == "method":
                end = body_end(code, match.end() - 1)
            elif code[match.start():match.end()].rstrip().endswith("=>"):
                rest = code[match.end():match.end() + 200].lstrip()
                stop = code.find("\n\n", match.end())
                end = body_end(code, match.end()) if rest.startswith("{") else (len(code) if stop < 0 else stop)
            else:
                depth, index = 0, code.find("(", start)
                while 0 <= index < len(code):
                    depth += (code[index] == "(") - (code[index] == ")")
                    if depth == 0:
                        break
                    index += 1
                end = body_end(code, index if index >= 0 else start)
            exported = kind == "function" and (bool(match["export"]) or name in listed)
            found.setdefault(start, {"name": name, "kind": kind, "line": code.count("\n", 0, start) + 1, "exported": exported or kind == "method",
                                     "branches": len(BRANCH.findall(code[match.end():end]))})
    return [found[key] for key in sorted(found)]


def scan_python(text, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text, name)
    result = []

    def count(node):
        total = 0
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            total += isinstance(child, (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.IfExp, ast.comprehension, ast.match_case))
            total += len(child.values) - 1 if isinstance(child, ast.BoolOp) else 0
            total += count(child)
        return total

    def visit(node, inside):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if not (child.name.startswith("__") and child.name.endswith("__")) and inside != "function":
                    result.append({"name": child.name, "kind": "method" if inside == "class" else "function", "line": child.lineno,
                                   "exported": not child.name.startswith("_"), "branches": count(child)})
                visit(child, "function")
            else:
                visit(child, "class" if isinstance(child, ast.ClassDef) else inside)
    visit(tree, "module")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root")
    parser.add_argument("--tests", action="append", default=[], help="another folder with tests; repeatable")
    parser.add_argument("--out", required=True, help="folder for functions.json and functions.md")
    args = parser.parse_args()
    root = Path(args.root)
    if not root.exists():
        fail(f"{args.root} does not exist; pass the folder of the project")
    extra = [Path(folder).resolve() for folder in args.tests]
    for folder in extra:
        if not folder.exists():
            fail(f"--tests {folder} does not exist")
    files, skipped, words, functions = [], [], set(), []
    for start in ([root] + extra):
        if start.is_file():
            files.append(start)
        for folder, names, entries in os.walk(start):
            names[:] = sorted(name for name in names if name not in SKIP and not name.startswith("."))
            files += [Path(folder) / entry for entry in sorted(entries)]
    base = root if root.is_dir() else root.parent
    sources = tests = 0
    for file in dict.fromkeys(path.resolve() for path in files):
        if file.suffix not in JS | {".py"} or file.name.endswith((".d.ts", ".min.js")):
            continue
        shown = os.path.relpath(file, base.resolve())
        if file.stat().st_size > 2_000_000:
            skipped.append({"file": shown, "reason": "larger than 2 MB"})
            continue
        if b"\0" in file.read_bytes():
            skipped.append({"file": shown, "reason": "binary"})
            continue
        text = read_text(file)
        inside = Path(shown).parts[:-1]
        if TEST_NAME.match(file.name) or any(part in TEST_FOLDER for part in inside) or any(file.is_relative_to(folder) for folder in extra):
            tests += 1
            words |= set(re.findall(r"[A-Za-z_$#][\w$]*", text))
            continue
        if max(map(len, text.split("\n"))) > 5000:
            skipped.append({"file": shown, "reason": "very long lines; generated or minified"})
            continue
        try:
            found = scan_python(text, shown) if file.suffix == ".py" else scan_js(text)
        except (SyntaxError, ValueError, RecursionError) as problem:
            skipped.append({"file": shown, "reason": f"not valid Python: {problem}"})
            continue
        sources += 1
        functions += [{"file": shown, **entry} for entry in found]
    if not sources and not tests:
        fail(f"{args.root} holds no JavaScript, TypeScript or Python files" + (f" that can be read ({skipped[0]['reason']})" if skipped else ""))
    for entry in functions:
        entry["tested"] = entry["name"] in words
    untested = sorted((entry for entry in functions if not entry["tested"]),
                      key=lambda e: (not e["exported"], -e["branches"], e["file"], e["line"]))
    result = {"sources": sources, "test_files": tests, "functions": len(functions), "untested": len(untested), "skipped": skipped,
              "list": functions}
    md = ["# Functions without a test", "", f"{len(functions)} functions in {sources} files, {tests} test files; {len(untested)} functions are "
          "mentioned in no test.", "", "| Function | Place | Branches | Exported |", "| --- | --- | --- | --- |"]
    md += [f"| {e['name']} | {e['file']}:{e['line']} | {e['branches']} | {'yes' if e['exported'] else 'no'} |" for e in untested[:300]]
    md += [f"\nSkipped: {entry['file']} ({entry['reason']})" for entry in skipped]
    print(f"{len(functions)} function(s) in {sources} file(s), {tests} test file(s), {len(untested)} untested, {len(skipped)} skipped")
    out = Path(args.out)
    write_text(out / "functions.json", json.dumps(result, indent=2, ensure_ascii=False) + "\n", files)
    write_text(out / "functions.md", "\n".join(md) + "\n", files)


if __name__ == "__main__":
    main()
