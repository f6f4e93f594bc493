"""Merge logs and notes with different time formats and zones into one timeline in UTC."""
import argparse
import json
import re
import sys
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

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


LEAD = r"^\s*(?:[-*>]\s+)?[\[(]?\s*"
ISO = re.compile(LEAD + r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)\s?(Z|UTC|[+-]\d\d:?\d\d)?[\])]?")
DAY_FIRST = re.compile(LEAD + r"(\d{1,2})\.(\d{1,2})\.(\d{4}),?\s+(\d{1,2}):(\d\d)(?::(\d\d))?[\])]?")
SYSLOG = re.compile(r"^(?:<\d+>)?([A-Z][a-z]{2})\s+(\d{1,2}) (\d\d):(\d\d):(\d\d)\b")
WEB = re.compile(r"\[(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\]")
EPOCH = re.compile(LEAD + r"(1\d{9}(?:\.\d+)?|1\d{12})\b[\])]?")
CLOCK = re.compile(LEAD + r"(\d{1,2}):(\d\d)(?::(\d\d))?(?:[.,]\d+)?(?!\d)\s?(am|pm)?\b[\])]?", re.I)
MARKS = [("resolved", r"\bresolved\b|back to normal|recovered|all clear"), ("mitigation", r"roll(?:ed|ing)?[ -]?back|revert|failover|hotfix|mitigat|restart"),
         ("detection", r"\balert|\bpage[dr]?\b|alarm|monitor"), ("change", r"\bdeploy|release|migrat|config(?:uration)? change|feature flag|upgrade"),
         ("failure", r"\berror|\bfatal|panic|exception|\bfail|outage|timeout|timed out|\bdown\b|5\d\d\b(?= )")]
MARKS = [(name, re.compile(pattern, re.I)) for name, pattern in MARKS]


def pairs(items, names, option):
    """FILE=VALUE options, checked against the inputs; a value alone holds for all files."""
    result = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals:
            result.update({known: item for known in names})
        elif Path(name).name in names:
            result[Path(name).name] = value
        else:
            fail(f"--{option} {item}: no input is called '{name}'; inputs are {', '.join(names)}")
    return result


def zone_of(text):
    if text.upper() in ("UTC", "Z"):
        return timezone.utc
    found = re.fullmatch(r"([+-])(\d\d):?(\d\d)", text)
    if found and int(found[2]) <= 14 and int(found[3]) < 60:
        offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
        return timezone(offset if found[1] == "+" else -offset)
    try:
        if "/" not in text:
            raise ValueError
        return ZoneInfo(text)
    except (ValueError, OSError, KeyError):
        fail(f"zone '{text}' is not known here; write an offset such as +01:00, or a name such as Europe/Berlin")


def from_json(line):
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    stamp = next((data[key] for key in ("time", "timestamp", "ts", "@timestamp") if key in data), None)
    text = next((data[key] for key in ("msg", "message", "event") if key in data), None)
    if stamp is None:
        return None
    level = data.get("level", data.get("severity"))
    shown = str(text) if text is not None else line
    return str(stamp), f"{str(level).upper()} {shown}" if isinstance(level, str) else shown


class Source:
    def __init__(self, name, zone, day, offset):
        self.name, self.zone, self.day, self.offset = name, zone, day, offset
        self.counts = {"lines": 0, "events": 0, "attached": 0, "before_first": 0, "filtered": 0}
        self.notes, self.assumed, self.last_clock = [], 0, None

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def local(self, when, has_zone):
        """To UTC; times without a zone are taken in the source's zone."""
        if not has_zone:
            self.assumed += 1
            zone = self.zone or timezone.utc
            if isinstance(zone, ZoneInfo):
                early, late = when.replace(tzinfo=zone, fold=0), when.replace(tzinfo=zone, fold=1)
                if early.utcoffset() != late.utcoffset():
                    self.note(f"{when} is ambiguous or does not exist (clock change); the first reading was taken")
            when = when.replace(tzinfo=zone)
        return when.astimezone(timezone.utc) + timedelta(seconds=self.offset)

    def parse(self, line):
        try:
            return self.parse_time(line)
        except (ValueError, OverflowError):
            return None

    def parse_time(self, line):
        if line.lstrip().startswith("{"):
            found = from_json(line)
            if found:
                inner = self.parse_time(found[0])
                return (inner[0], found[1]) if inner else None
        head = line[:400]
        found = ISO.match(head)
        if found:
            text = re.sub(r"\.(\d{6})\d+", r".\1", found[1].replace(",", "."))
            zone = (found[2] or "").replace("UTC", "Z")
            return self.local(datetime.fromisoformat(text + zone), bool(zone)), line[found.end():]
        found = WEB.search(head)
        if found:
            return self.local(datetime.strptime(found[1], "%d/%b/%Y:%H:%M:%S %z"), True), line[:found.start()] + line[found.end():]
        found = DAY_FIRST.match(head)
        if found:
            day, month, year, hour, minute, second = (int(part or 0) for part in found.groups())
            return self.local(datetime(year, month, day, hour, minute, second), False), line[found.end():]
        found = SYSLOG.match(head)
        if found:
            year = self.day.year if self.day else datetime.now(timezone.utc).year
            if not self.day:
                self.note(f"the year {year} is assumed; give --date {self.name}=YYYY-MM-DD")
            when = datetime.strptime(f"{year} {found[1]} {found[2]} {found[3]}:{found[4]}:{found[5]}", "%Y %b %d %H:%M:%S")
            return self.local(when, False), line[found.end():]
        found = EPOCH.match(head)
        if found:
            value = float(found[1])
            return self.local(datetime.fromtimestamp(value / 1000 if value > 1e11 else value, timezone.utc), True), line[found.end():]
        found = CLOCK.match(head)
        if found:
            hour, minute, second = int(found[1]), int(found[2]), int(found[3] or 0)
            if found[4]:
                hour = hour % 12 + (12 if found[4].lower() == "pm" else 0)
            if not self.day:
                self.note(f"lines with only a time of day were left out; give --date {self.name}=YYYY-MM-DD")
                return None
            when = datetime(self.day.year, self.day.month, self.day.day, hour, minute, second)
            if self.last_clock and self.last_clock - when > timedelta(hours=12):
                self.day += timedelta(1)
                when += timedelta(1)
                self.note(f"midnight passed: {self.day} from {hour:02}:{minute:02}")
            self.last_clock = when
            return self.local(when, False), line[found.end():]
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("inputs", nargs="+")
    parser.add_argument("--out", required=True, help="folder for timeline.md and timeline.json")
    parser.add_argument("--tz", action="append", default=[], metavar="FILE=ZONE")
    parser.add_argument("--date", action="append", default=[], metavar="FILE=DAY")
    parser.add_argument("--offset", action="append", default=[], metavar="FILE=SECONDS")
    parser.add_argument("--grep", action="append", default=[], metavar="FILE=WORD")
    parser.add_argument("--gap", type=float, default=15, help="minutes of silence that count as a gap")
    args = parser.parse_args()
    names = [Path(path).name for path in args.inputs]
    if len(set(names)) != len(names):
        fail("two inputs have the same file name; rename one so that the sources can be told apart")
    if args.gap <= 0:
        fail("--gap must be more than 0 minutes")
    zones, days = pairs(args.tz, names, "tz"), pairs(args.date, names, "date")
    offsets, greps = pairs(args.offset, names, "offset"), pairs(args.grep, names, "grep")
    events, sources = [], []
    for path, name in zip(args.inputs, names):
        try:
            day = date.fromisoformat(days[name]) if name in days else None
        except ValueError:
            fail(f"--date {name}={days[name]} is no day such as 2026-03-04")
        if name in offsets and not re.fullmatch(r"[+-]?\d{1,9}(?:\.\d+)?", offsets[name]):
            fail(f"--offset {name}={offsets[name]} must be seconds, such as -90")
        source = Source(name, zone_of(zones[name]) if name in zones else None, day, float(offsets.get(name, 0)))
        sources.append(source)
        current = None
        for number, line in enumerate(read_text(path).split("\n"), 1):
            if not line.strip():
                continue
            source.counts["lines"] += 1
            found = source.parse(line)
            if found:
                if name in greps and greps[name].lower() not in line.lower():
                    source.counts["filtered"] += 1
                    current = False
                    continue
                text = re.sub(r"\s+", " ", found[1]).strip(" \t-–—:|")[:500] or "(no text)"
                current = {"at": found[0], "source": name, "line": number, "text": text, "more": 0, "count": 1}
                events.append(current)
                source.counts["events"] += 1
            elif current:
                current["more"] += 1
                source.counts["attached"] += 1
            elif current is None:
                source.counts["before_first"] += 1
            else:
                source.counts["filtered"] += 1
        if source.assumed and source.zone is None:
            source.note(f"{source.assumed} time(s) without a zone taken as UTC; give --tz {name}=ZONE if that is wrong")
        if not source.counts["events"]:
            source.note("no event found in this source")
    if not events:
        hints = "; ".join(f"{source.name}: {note}" for source in sources for note in source.notes)
        fail(f"no line with a time was found ({hints}); see references/time.md for the forms")
    events.sort(key=lambda event: event["at"])
    merged, seen = [], {}
    for event in events:
        key = (event["at"].replace(microsecond=0), event["text"].lower())
        if key in seen:
            seen[key]["count"] += 1
            if event["source"] not in seen[key]["source"].split(", "):
                seen[key]["source"] += f", {event['source']}"
        else:
            seen[key] = event
            merged.append(event)
    gaps = []
    for before, after in zip(merged, merged[1:]):
        silence = (after["at"] - before["at"]).total_seconds() / 60
        if silence >= args.gap:
            gaps.append({"from": before["at"], "to": after["at"], "minutes": round(silence, 1)})
    show = lambda when: when.strftime("%Y-%m-%d %H:%M:%S")
    for event in merged:
        event["mark"] = next((name for name, pattern in MARKS if pattern.search(event["text"])), None)
    cell = lambda text: str(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    md = ["# Timeline (UTC)", "", f"{show(merged[0]['at'])} to {show(merged[-1]['at'])}, {len(merged)} events from {len(sources)} sources, "
          f"{len(gaps)} gap(s) of {args.gap:g} minutes or more.", "", "## Sources", "", "| Source | Zone | Events | Without time | Notes |",
          "| --- | --- | --- | --- | --- |"]
    for source in sources:
        zone = zones.get(source.name) or ("UTC assumed" if source.assumed else "in the lines")
        md.append(f"| {cell(source.name)} | {zone} | {source.counts['events']} | {source.counts['attached'] + source.counts['before_first']} | "
                  f"{cell('; '.join(source.notes))} |")
    md += ["", "## Events", "", "| Time | Mark | Source | Event |", "| --- | --- | --- | --- |"]
    starts = {gap["from"]: gap for gap in gaps}
    for index, event in enumerate(merged):
        extra = (f" (×{event['count']})" if event["count"] > 1 else "") + (f" (+{event['more']} lines)" if event["more"] else "")
        md.append(f"| {show(event['at'])} | {event['mark'] or ''} | {cell(event['source'])}:{event['line']} | {cell(event['text'])}{extra} |")
        last_of_moment = index + 1 == len(merged) or merged[index + 1]["at"] != event["at"]
        if event["at"] in starts and last_of_moment:
            md.append(f"| … | gap | | {starts[event['at']]['minutes']:g} minutes without an event |")
    stamp = lambda when: when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    result = {"from": stamp(merged[0]["at"]), "to": stamp(merged[-1]["at"]),
              "sources": [{"name": s.name, "zone": zones.get(s.name), "offset_seconds": s.offset, **s.counts, "notes": s.notes} for s in sources],
              "gaps": [{**gap, "from": stamp(gap["from"]), "to": stamp(gap["to"])} for gap in gaps],
              "events": [{**event, "at": stamp(event["at"])} for event in merged]}
    for source in sources:
        for note in source.notes:
            print(f"NOTE {source.name}: {note}")
    print(f"{len(merged)} event(s) from {len(sources)} source(s), {len(events) - len(merged)} duplicate(s), {len(gaps)} gap(s)")
    out = Path(args.out)
    write_text(out / "timeline.md", "\n".join(md) + "\n", args.inputs)
    write_text(out / "timeline.json", json.dumps(result, indent=2, ensure_ascii=False) + "\n", args.inputs)


if __name__ == "__main__":
    main()
