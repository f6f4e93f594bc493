"""Group log lines by template: counts, levels, first and last seen, spikes, new and stopped messages."""
import argparse
import gzip
import json
import re
import statistics
import sys
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path

def fail(message):
    """Bad input: say what to do, leave with 2 (1 means: the check ran and found problems)."""
    print(f"error: {message}", file=sys.stderr)
    sys.exit(2)


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


MAX_LINE = 4000
LEVELS = {"trace": 0, "debug": 1, "info": 2, "warn": 3, "error": 4, "fatal": 5}
WORDS = {"warning": "warn", "err": "error", "critical": "fatal", "crit": "fatal", "severe": "error", "panic": "fatal",
         "emerg": "fatal", "alert": "fatal", "notice": "info", "information": "info"}
PINO = {10: "trace", 20: "debug", 30: "info", 40: "warn", 50: "error", 60: "fatal"}
LEVEL = re.compile(r"\b(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|CRIT(?:ICAL)?|SEVERE|FATAL|PANIC|EMERG|ALERT)\b")
LEVEL_LOW = re.compile(r"(?:\[|level=\"?|^|\s)(trace|debug|info|notice|warn(?:ing)?|error|critical|fatal)(?:\]|\"|:|\s\|)")
BAD = re.compile(r"\b(?:exception|panic|failed|failure|traceback)\b", re.I)
ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:\s?(?:Z|[+-]\d\d:?\d\d))?")
SYSLOG = re.compile(r"([A-Z][a-z]{2})\s+(\d{1,2}) (\d\d):(\d\d):(\d\d)\b")
APACHE = re.compile(r"\[(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\]")
CONTINUED = re.compile(r"^(?:\s+\S|at \S|Caused by|Traceback|\.\.\. |[A-Za-z_.]*(?:Error|Exception): )")
STEPS = [
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.I), "<uuid>"),
    (re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"), "<email>"),
    (re.compile(r"\bhttps?://[^\s\"'>)]+"), "<url>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<ip>"),
    (re.compile(r"\b0x[0-9a-f]+\b|\b(?=[a-f]*\d)[0-9a-f]{8,}\b", re.I), "<hex>"),
    (re.compile(r"\"[^\"]*\"|(?<!\w)'[^']*'"), "<str>"),
    (re.compile(r"(?<![\w<])(?:[\w.~-]*/){2,}[\w.~%?=&-]*"), "<path>"),
    (re.compile(r"(?<![A-Za-z_])[+-]?\d+(?:[.,]\d+)*(?:ms|us|ns|s|m|h|kb|mb|gb|b|%)?\b", re.I), "<n>"),
]


def lines_of(path):
    file = Path(path)
    if not file.is_file():
        fail(f"{path} is not a file; pass existing log files")
    try:
        with file.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with (gzip.open(file, "rb") if packed else file.open("rb")) as stream:
            number = 0
            while True:
                line = stream.readline(MAX_LINE)
                if not line:
                    return
                number += 1
                cut = line
                while cut and not cut.endswith(b"\n"):
                    cut = stream.readline(1 << 20)
                if number == 1 and line.startswith((b"\xff\xfe", b"\xfe\xff")):
                    fail(f"{path} is UTF-16; convert it with iconv -f UTF-16 -t UTF-8 first")
                text = line.decode("utf-8", errors="replace").lstrip("\ufeff").rstrip("\r\n")
                yield number, text.replace("\0", "")
    except (OSError, EOFError) as problem:
        fail(f"{path} cannot be read ({problem}); check the file")


def parse_iso(text):
    text = re.sub(r"\s(?=[+-]|Z)", "", text.strip().replace(",", "."))
    text = re.sub(r"\.(\d{6})\d+", r".\1", text)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return when.astimezone(timezone.utc) if when.tzinfo else when.replace(tzinfo=timezone.utc)


def time_of(line, year):
    head = line[:80]
    found = ISO.search(head)
    if found and parse_iso(found[0]):
        return parse_iso(found[0]), line[:found.start()] + line[found.end():]
    found = APACHE.search(line[:300])
    try:
        if found:
            when = datetime.strptime(found[1], "%d/%b/%Y:%H:%M:%S %z").astimezone(timezone.utc)
            return when, line[:found.start()] + line[found.end():]
        found = SYSLOG.match(re.sub(r"^<\d+>", "", head))
        if found:
            when = datetime.strptime(f"{year} {found[0]}", "%Y %b %d %H:%M:%S").replace(tzinfo=timezone.utc)
            return when, line[line.index(found[0]) + len(found[0]):]
    except ValueError:
        pass
    return None, line


def from_json(line):
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    pick = lambda *keys: next((data[key] for key in keys if data.get(key) not in (None, "")), None)
    stamp, level, message = pick("time", "timestamp", "ts", "@timestamp"), pick("level", "severity", "lvl"), \
        pick("msg", "message", "event")
    if message is None:
        return None
    when = None
    if isinstance(stamp, (int, float)) and not isinstance(stamp, bool):
        try:
            when = datetime.fromtimestamp(stamp / 1000 if stamp > 1e11 else stamp, timezone.utc)
        except (ValueError, OverflowError, OSError):
            pass
    elif isinstance(stamp, str):
        when = parse_iso(stamp)
    level = PINO.get(level) if isinstance(level, int) else str(level or "").lower()
    problem = data.get("err", data.get("error"))
    problem = problem.get("message") if isinstance(problem, dict) else problem
    text = str(message) + (f": {problem}" if isinstance(problem, str) and problem else "")
    return when, WORDS.get(level, level) if WORDS.get(level, level) in LEVELS else None, text


def template_of(message):
    for pattern, mark in STEPS:
        message = pattern.sub(mark, message)
    return re.sub(r"\s+", " ", message).strip(" -:|[]")[:300] or "(empty)"


def moment(text, name):
    if text is None:
        return None
    when = parse_iso(text if "T" in text or " " in text else text + "T00:00:00")
    if not when:
        fail(f"--{name} must be an ISO time such as 2026-03-04T14:00:00Z")
    return when


def show(when):
    return when.strftime("%Y-%m-%dT%H:%M:%SZ") if when else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="+")
    parser.add_argument("--out", required=True, help="folder for triage.md and triage.json")
    parser.add_argument("--bucket", type=int, help="seconds per bucket")
    parser.add_argument("--level", choices=sorted(LEVELS), help="lowest level to keep")
    parser.add_argument("--since")
    parser.add_argument("--until")
    parser.add_argument("--top", type=int, default=40)
    parser.add_argument("--year", type=int, default=datetime.now(timezone.utc).year, help="for syslog times")
    args = parser.parse_args()
    if args.bucket is not None and args.bucket < 1:
        fail("--bucket must be at least 1 second")
    since, until = moment(args.since, "since"), moment(args.until, "until")
    groups, totals = {}, Counter(lines=0, blank=0, continued=0, filtered=0, untimed=0)
    for path in args.logs:
        current = None
        for number, line in lines_of(path):
            totals["lines"] += 1
            if not line.strip():
                totals["blank"] += 1
                continue
            parsed = from_json(line) if line.lstrip().startswith("{") else None
            if parsed:
                when, level, message = parsed
                guessed = False
            else:
                when, message = time_of(line, args.year)
                if when is None and current is not None and CONTINUED.match(line):
                    totals["continued"] += 1
                    if current is not False and len(current["trace"]) < 6 and current["open"]:
                        current["trace"].append(line[:200])
                    continue
                found = LEVEL.search(message[:200]) or LEVEL_LOW.search(message[:200])
                level = WORDS.get(found[1].lower(), found[1].lower()) if found else None
                if found:
                    message = message[:found.start(1)] + message[found.end(1):]
                guessed = level is None and bool(BAD.search(message))
                level = "error" if guessed else level
            if (since and (when is None or when < since)) or (until and (when is None or when > until)) or \
                    (args.level and LEVELS.get(level or "info") < LEVELS[args.level]):
                totals["filtered"] += 1
                current = False
                continue
            totals["untimed"] += when is None
            template = template_of(message)
            group = groups.get((level, template))
            if group is None:
                group = groups[(level, template)] = {"level": level or "none", "guessed": guessed, "template": template,
                                                     "count": 0, "example": line.strip()[:400], "trace": [], "open": True,
                                                     "where": f"{Path(path).name}:{number}", "times": [], "files": set()}
            elif current is group or group["count"]:
                group["open"] = False
            group["count"] += 1
            group["files"].add(Path(path).name)
            if when:
                group["times"].append(when.timestamp())
            current = group
    if not groups:
        fail("no log lines left; check the files and the --level, --since and --until options")
    stamps = [stamp for group in groups.values() for stamp in group["times"]]
    start, end = (min(stamps), max(stamps)) if stamps else (0, 0)
    span = end - start
    steps = [1, 10, 60, 300, 900, 3600, 21600, 86400]
    bucket = args.bucket or next((step for step in steps if span / step <= 60), 86400)
    buckets = int(span // bucket) + 1
    results = []
    for group in groups.values():
        times = sorted(group.pop("times"))
        del group["open"]
        group["files"] = sorted(group["files"])
        at = lambda stamp: show(datetime.fromtimestamp(stamp, timezone.utc))
        group["first"], group["last"] = (at(times[0]), at(times[-1])) if times else (None, None)
        counts = Counter(int((stamp - start) // bucket) for stamp in times)
        spikes = []
        if 4 <= buckets <= 1_000_000:
            total, squares = sum(counts.values()), sum(n * n for n in counts.values())
            for index, count in counts.items():
                mean = (total - count) / (buckets - 1)
                deviation = max(0.0, (squares - count * count) / (buckets - 1) - mean * mean) ** 0.5
                if count >= 5 and count > mean + 3 * deviation and count > 2 * mean:
                    spikes.append({"at": at(start + index * bucket), "count": count, "usual": round(mean, 2)})
        group["spikes"] = sorted(spikes, key=lambda spike: -spike["count"])[:5]
        late = start + span * 0.75
        serious = LEVELS.get(group["level"], 2) >= 3
        group["new"] = bool(times and span and serious and times[0] >= late)
        gaps = [b - a for a, b in zip(times, times[1:])]
        group["stopped"] = bool(len(times) >= 10 and times[-1] < late and end - times[-1] > 5 * max(statistics.median(gaps), 1))
        results.append(group)
    results.sort(key=lambda group: (-LEVELS.get(group["level"], 2) if LEVELS.get(group["level"], 2) >= 3 else 0,
                                    -group["count"], group["template"]))
    summary = {"files": [Path(path).name for path in args.logs], **totals, "templates": len(results),
               "first": show(datetime.fromtimestamp(start, timezone.utc)) if stamps else None,
               "last": show(datetime.fromtimestamp(end, timezone.utc)) if stamps else None, "bucket_seconds": bucket,
               "levels": dict(Counter(level for g in results for level in [g["level"]] * g["count"]))}
    code = lambda text: "`" + text.replace("`", "'").replace("|", "\\|") + "`"
    md = ["# Log triage", "", f"{totals['lines']} lines, {len(results)} templates, {summary['first']} to {summary['last']}; "
          f"untimed {totals['untimed']}. Levels: {', '.join(f'{k} {v}' for k, v in sorted(summary['levels'].items()))}.", ""]
    flagged = [("New near the end", [f"{g['first']} {g['level']} ×{g['count']} {code(g['template'])}" for g in results if g["new"]]),
               ("Spikes", [f"{s['at']} ×{s['count']} (usual {s['usual']}) {g['level']} {code(g['template'])}"
                           for g in results for s in g["spikes"]]),
               ("Stopped", [f"last {g['last']} ×{g['count']} {code(g['template'])}" for g in results if g["stopped"]])]
    for heading, items in flagged:
        md += [f"## {heading}", ""] + ([f"- {item}" for item in items[:20]] or ["None."]) + [""]
    md += ["## Templates", "", "| Level | Count | First | Last | Where | Template |", "| --- | --- | --- | --- | --- | --- |"]
    for g in results[:args.top]:
        level = g["level"] + (" (guessed)" if g["guessed"] else "")
        md.append(f"| {level} | {g['count']} | {g['first']} | {g['last']} | {g['where']} | {code(g['template'])} |")
    if len(results) > args.top:
        md += ["", f"{len(results) - args.top} more in triage.json."]
    counted = sum(group["count"] for group in results)
    print(f"{totals['lines']} lines = {counted} grouped + {totals['continued']} continued + {totals['filtered']} filtered "
          f"+ {totals['blank']} blank; {len(results)} templates; bucket {bucket} s")
    out = Path(args.out)
    write_text(out / "triage.md", "\n".join(md) + "\n", args.logs)
    write_text(out / "triage.json", json.dumps({"summary": summary, "templates": results}, indent=2, ensure_ascii=False) + "\n",
               args.logs)


if __name__ == "__main__":
    main()
