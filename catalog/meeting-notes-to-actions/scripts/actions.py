"""Find candidates for actions in notes, resolve dates, check actions.json against the notes, render it."""
import argparse
import calendar
import json
import re
import sys
from datetime import date, timedelta
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


SIGNALS = [
    ("marked", re.compile(r"\b(?:TODO|action(?: item)?s?\s*:|AP\s*:|follow[- ]?up)|^\s*[-*]?\s*\[ \]", re.I)),
    ("promise", re.compile(r"\b(?:I(?:'|’)ll|I will|I can (?:take|do)|we(?:'|’)ll|leave it with me|on it|\w+ will|to do)\b", re.I)),
    ("request", re.compile(r"\b(?:can|could|would|will) (?:you|\w+) .*\?|\bplease\b", re.I)),
    ("mention", re.compile(r"(?:^|\s)@\w+")),
    ("deadline", re.compile(r"\b(?:by|until|before|due) (?:the )?(?:end|next|this|tomorrow|today|mon|tue|wed|thu|fri|sat|sun|"
                            r"\d|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|Q[1-4])", re.I)),
]
DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
VAGUE = re.compile(r"^(?:look into|think about|follow up|handle|deal with|discuss|sort out)\b", re.I)


def iso(text):
    try:
        return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d", text or "") else None
    except ValueError:
        return None


def month_end(day):
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def resolve(phrase, meeting):
    text = re.sub(r"\s+", " ", phrase.strip().lower())
    text = re.sub(r"^(?:by|until|before|due|on|at)\s+|\s+(?:morning|noon|afternoon|evening)$", "", text)
    text = re.sub(r"^the\s+", "", text)
    if iso(text):
        return iso(text)
    if text in ("today", "tonight", "eod", "end of day", "end of the day"):
        return meeting
    if text == "tomorrow":
        return meeting + timedelta(1)
    if text == "day after tomorrow":
        return meeting + timedelta(2)
    monday = meeting - timedelta(meeting.weekday())
    if text in ("this week", "end of week", "end of the week", "end of this week", "eow"):
        return monday + timedelta(4) if meeting.weekday() <= 4 else None
    if text in ("next week", "end of next week"):
        return monday + timedelta(11)
    if text in ("end of month", "end of the month", "end of this month", "this month", "eom"):
        return month_end(meeting)
    if text in ("next month", "end of next month"):
        return month_end(month_end(meeting) + timedelta(1))
    found = re.fullmatch(r"(?:end of )?q([1-4])(?: (\d{4}))?", text)
    if found:
        quarter = int(found[1])
        last = month_end(date(int(found[2] or meeting.year), quarter * 3, 1))
        return last if found[2] or last >= meeting else month_end(date(meeting.year + 1, quarter * 3, 1))
    found = re.fullmatch(r"(?:in|within) (\d{1,3}|[a-z]+) (day|week)s?", text)
    if found:
        count = int(found[1]) if found[1].isdigit() else NUMBERS.get(found[1])
        return meeting + timedelta(count * (7 if found[2] == "week" else 1)) if count else None
    found = re.fullmatch(r"(?:(this|next|coming) )?([a-z]{3,9})", text)
    if found:
        days = [index for index, day in enumerate(DAYS) if day.startswith(found[2])]
        if len(days) == 1:
            if found[1] == "next":
                return monday + timedelta(7 + days[0])
            return meeting + timedelta((days[0] - meeting.weekday()) % 7)
    found = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th|\.)? (?:of )?([a-z]{3,9})\.?(?:,? (\d{4}))?", text)
    parts = (found[1], found[2], found[3]) if found else None
    if not parts:
        found = re.fullmatch(r"([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?", text)
        parts = (found[2], found[1], found[3]) if found else None
    if parts and parts[1][:3] in MONTHS:
        try:
            result = date(int(parts[2] or meeting.year), MONTHS.index(parts[1][:3]) + 1, int(parts[0]))
        except ValueError:
            return None
        return result if parts[2] or result >= meeting else result.replace(year=result.year + 1)
    return None


def load(path):
    try:
        data = json.loads(read_text(path))
    except (json.JSONDecodeError, RecursionError) as problem:
        fail(f"{path} is not JSON ({problem}); write it in the form of assets/actions-example.json")
    if not isinstance(data, dict) or not isinstance(data.get("actions"), list):
        fail(f"{path} needs an object with a list 'actions'; see assets/actions-example.json")
    return data


def plain(text):
    text = text.replace("’", "'").replace("“", '"').replace("”", '"').replace("–", "-").replace("—", "-")
    return re.sub(r"\s+", " ", text).strip().lower()


def check(data, notes):
    errors, warnings = [], []
    meeting = data.get("meeting") if isinstance(data.get("meeting"), dict) else {}
    held = iso(meeting.get("date")) if isinstance(meeting.get("date"), str) else None
    if not held:
        errors.append("meeting.date must be a date such as 2026-03-04")
    attendees = [str(name).lower() for name in meeting.get("attendees") or []]
    words, seen = plain(notes), {}
    for index, action in enumerate(data["actions"]):
        where = f"action {index + 1}"
        if not isinstance(action, dict):
            errors.append(f"{where}: must be an object")
            continue
        task, owner, due, quote = (action.get(key) for key in ("task", "owner", "due", "quote"))
        if not isinstance(task, str) or len(task.split()) < 2:
            errors.append(f"{where}: 'task' must say what is done, in at least two words")
        else:
            if VAGUE.match(task):
                warnings.append(f"{where}: '{task}' names no result; say what exists when it is done")
            if plain(task) in seen:
                warnings.append(f"{where}: same task as action {seen[plain(task)]}")
            seen.setdefault(plain(task), index + 1)
        if not isinstance(quote, str) or not quote.strip():
            errors.append(f"{where}: 'quote' is missing; copy the sentence from the notes")
        elif plain(quote) not in words:
            errors.append(f"{where}: the quote is not in the notes word for word")
        if owner is None:
            warnings.append(f"{where}: no owner; ask who does it")
        elif not isinstance(owner, str) or not owner.strip():
            errors.append(f"{where}: 'owner' must be a name or null")
        elif owner.lower() not in attendees and not re.search(rf"\b{re.escape(plain(owner))}\b", words):
            errors.append(f"{where}: owner '{owner}' is neither an attendee nor in the notes")
        if due is None:
            warnings.append(f"{where}: no due date; ask")
        elif not isinstance(due, str) or not iso(due):
            errors.append(f"{where}: due '{due}' is no date such as 2026-03-06")
        elif held and iso(due) < held:
            errors.append(f"{where}: due {due} lies before the meeting on {held}")
        elif held and (iso(due) - held).days > 366:
            warnings.append(f"{where}: due {due} is over a year away; check the year")
        if action.get("priority", "normal") not in ("high", "normal", "low"):
            errors.append(f"{where}: 'priority' must be high, normal or low")
    return errors, warnings


def cell(value):
    return str(value).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("candidates")
    one.add_argument("notes")
    two = commands.add_parser("date")
    two.add_argument("phrase")
    two.add_argument("--meeting", required=True, help="date of the meeting, 2026-03-04")
    for name in ("check", "render"):
        sub = commands.add_parser(name)
        sub.add_argument("actions")
        sub.add_argument("--notes", required=True)
        if name == "render":
            sub.add_argument("--out", required=True)
    args = parser.parse_args()
    if args.command == "date":
        meeting = iso(args.meeting)
        if not meeting:
            fail("--meeting must be a date such as 2026-03-04")
        result = resolve(args.phrase, meeting)
        if not result:
            fail(f"'{args.phrase}' cannot be resolved; use null and ask, or see references/ambiguity.md")
        print(f"{result} {DAYS[result.weekday()].capitalize()}")
        return
    notes = read_text(args.notes)
    if not notes.strip():
        fail(f"{args.notes} is empty; pass the meeting notes")
    if args.command == "candidates":
        count = 0
        for number, line in enumerate(notes.split("\n"), 1):
            signals = [name for name, pattern in SIGNALS if pattern.search(line[:5000])]
            if signals:
                count += 1
                print(f"{number}\t{','.join(signals)}\t{line.strip()[:300]}")
        print(f"{count} candidate line(s); read the rest of the notes too", file=sys.stderr)
        return
    data = load(args.actions)
    errors, warnings = check(data, notes)
    for message in errors:
        print(f"ERROR {message}")
    for message in warnings:
        print(f"WARN {message}")
    print(f"{len(data['actions'])} action(s), {len(errors)} error(s), {len(warnings)} warning(s)")
    if errors:
        sys.exit(1)
    if args.command == "render":
        meeting = data["meeting"]
        md = [f"# Actions: {cell(meeting.get('title') or 'meeting')}, {meeting['date']}", "",
              "| # | Task | Owner | Due | Priority |", "| --- | --- | --- | --- | --- |"]
        actions = sorted(data["actions"], key=lambda a: (a.get("due") or "9999", a.get("owner") or "~"))
        for number, action in enumerate(actions, 1):
            md.append(f"| {number} | {cell(action['task'])} | {cell(action.get('owner') or '**open**')} | "
                      f"{action.get('due') or '**open**'} | {action.get('priority', 'normal')} |")
        questions = [f"{'Who does' if not a.get('owner') else 'By when is'} this{'' if not a.get('owner') else ' done'}: "
                     f"{cell(a['task'])}?" for a in actions if not a.get("owner") or not a.get("due")]
        sources = [f"{number}. “{cell(a['quote'])}”" for number, a in enumerate(actions, 1)]
        for heading, items in (("Questions", questions), ("Decisions", data.get("decisions") or []),
                               ("Open points", data.get("open_points") or [])):
            if items:
                md += ["", f"## {heading}", ""] + [f"- {cell(item)}" for item in items]
        md += ["", "## Sources", ""] + sources
        write_text(args.out, "\n".join(md) + "\n", [args.actions, args.notes])


if __name__ == "__main__":
    main()
