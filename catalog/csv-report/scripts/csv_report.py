"""Profile a CSV file: types, statistics, missing values, charts; Markdown, HTML, SVG and JSON."""
import argparse
import csv
import html
import io
import json
import math
import re
import statistics
import sys
from collections import Counter
from datetime import datetime
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


MISSING = {"", "na", "n/a", "null", "none", "nan", "-", "?"}
BOOLEANS = {"true", "false", "yes", "no"}
POINT = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?|[+-]?\.\d+")
COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?")
BLUE = "#2f5d8a"


def guess_delimiter(text):
    sample = [line for line in text[:65536].split("\n")[:50] if line.strip()]
    best, best_score = ",", 0
    for candidate in ",;\t|":
        try:
            widths = [len(row) for row in csv.reader(sample, delimiter=candidate)]
        except csv.Error:
            continue
        if not widths or widths[0] < 2:
            continue
        score = sum(width == widths[0] for width in widths) / len(widths) * 10 + min(widths[0], 9)
        if score > best_score:
            best, best_score = candidate, score
    return best


def to_number(value, comma):
    value = value.strip()
    digits = value.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        return None
    if comma and COMMA.fullmatch(value):
        result = float(value.replace(".", "").replace(",", "."))
    elif POINT.fullmatch(value):
        result = float(value.replace(",", ""))
    else:
        return None
    return result if math.isfinite(result) else None


def to_date(value):
    value = value.strip()
    for pattern in ("%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d"):
        try:
            return "date", datetime.strptime(value, pattern)
        except ValueError:
            pass
    if re.match(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", value):
        try:
            return "datetime", datetime.fromisoformat(value).replace(tzinfo=None)
        except ValueError:
            pass
    return None, None


def quantile(ordered, share):
    place = (len(ordered) - 1) * share
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def tidy(number):
    if isinstance(number, float):
        return int(number) if number.is_integer() and abs(number) < 1e15 else float(f"{number:.6g}")
    return number


def profile_column(name, values, comma):
    present = [(row, value) for row, value in values if value.strip().lower() not in MISSING]
    column = {"name": name, "count": len(present), "missing": len(values) - len(present)}
    column["distinct"] = len({value for _, value in present})
    parsed = {}
    if not present:
        column["type"] = "empty"
        return column, parsed, [f"column '{name}' is empty"]
    need = 0.95 * len(present)
    numbers = {row: number for row, value in present if (number := to_number(value, comma)) is not None}
    dates, kinds = {}, Counter()
    if len(numbers) < need:
        for row, value in present:
            kind, date = to_date(value)
            if kind:
                dates[row] = date
                kinds[kind] += 1
    notes = []
    if sum(value.strip().lower() in BOOLEANS for _, value in present) >= need:
        column["type"] = "boolean"
        parsed = {row: value for row, value in present if value.strip().lower() in BOOLEANS}
    elif len(numbers) >= need:
        whole = all(number.is_integer() for number in numbers.values())
        column["type"], parsed = ("integer" if whole else "number"), numbers
    elif len(dates) >= need:
        column["type"], parsed = ("datetime" if kinds["datetime"] else "date"), dates
    else:
        column["type"] = "text"
        share = len(numbers) / len(present)
        if share > 0.5 and not all(value.strip().isdigit() for _, value in present):
            notes.append(f"column '{name}' is mostly numbers ({share:.0%}) but holds text too")
        parsed = dict(present)
    misfits = [{"row": row, "value": value[:80]} for row, value in present if row not in parsed]
    if misfits:
        column["misfits"] = misfits[:10]
        notes.append(f"column '{name}': {len(misfits)} value(s) are not {column['type']}, e.g. row {misfits[0]['row']}")
    if column["type"] in ("integer", "number"):
        ordered = sorted(parsed.values())
        q1, median, q3 = (quantile(ordered, share) for share in (0.25, 0.5, 0.75))
        stats = {"min": ordered[0], "q1": q1, "median": median, "mean": statistics.fmean(ordered), "q3": q3,
                 "max": ordered[-1], "sum": math.fsum(ordered),
                 "stdev": statistics.stdev(ordered) if len(ordered) > 1 else 0.0}
        column["stats"] = {key: tidy(value) for key, value in stats.items()}
        low, high = q1 - 1.5 * (q3 - q1), q3 + 1.5 * (q3 - q1)
        outliers = [{"row": row, "value": tidy(v)} for row, v in parsed.items() if v < low or v > high]
        column["outliers"] = {"count": len(outliers), "examples": outliers[:5]}
    elif column["type"] in ("date", "datetime"):
        first, last = min(parsed.values()), max(parsed.values())
        column["stats"] = {"first": first.isoformat(), "last": last.isoformat(), "days": (last - first).days}
    else:
        column["top"] = [{"value": v[:80], "count": n} for v, n in Counter(parsed.values()).most_common(5)]
        padded = sum(value != value.strip() for _, value in present)
        if padded:
            notes.append(f"column '{name}': {padded} value(s) with spaces at the ends")
    if column["distinct"] == len(present) and len(present) >= 10 and column["type"] in ("integer", "text"):
        column["possible_identifier"] = True
    if column["distinct"] == 1 and len(present) > 1:
        notes.append(f"column '{name}' has the same value in every row")
    if column["missing"] > 0.2 * len(values):
        notes.append(f"column '{name}': {column['missing'] / len(values):.0%} missing")
    return column, parsed, notes


def label(number):
    return f"{number:,.6g}" if abs(number) < 1e6 else f"{number:.3g}"


def svg(title, body, height=260):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 {height}" role="img" '
            f'font-family="system-ui, sans-serif" font-size="12"><title>{html.escape(title)}</title>'
            f'<rect width="640" height="{height}" fill="#fff"/>'
            f'<text x="12" y="22" font-size="14" font-weight="600">{html.escape(title)}</text>{body}</svg>\n')


def histogram(name, numbers):
    low, high = min(numbers), max(numbers)
    bins = 1 if low == high else min(20, max(5, math.ceil(math.sqrt(len(numbers)))))
    counts = [0] * bins
    for number in numbers:
        counts[min(bins - 1, int((number - low) / (high - low) * bins)) if bins > 1 else 0] += 1
    width, body = 580 / bins, ""
    for index, count in enumerate(counts):
        tall = count / max(counts) * 170
        body += (f'<rect x="{40 + index * width + 1:.1f}" y="{220 - tall:.1f}" width="{max(width - 2, 1):.1f}" '
                 f'height="{tall:.1f}" fill="{BLUE}"><title>{count}</title></rect>')
    body += (f'<line x1="40" x2="620" y1="220" y2="220" stroke="#666"/><text x="40" y="240">{label(low)}</text>'
             f'<text x="620" y="240" text-anchor="end">{label(high)}</text>'
             f'<text x="34" y="56" text-anchor="end">{max(counts)}</text>')
    return svg(f"{name}: distribution of {len(numbers)} values", body)


def bars(name, values):
    top = Counter(values).most_common(12)
    body = ""
    for index, (value, count) in enumerate(top):
        y, wide = 40 + index * 24, count / top[0][1] * 380
        text = html.escape(value if len(value) <= 24 else value[:23] + "…")
        body += (f'<text x="170" y="{y + 14}" text-anchor="end">{text}</text><rect x="180" y="{y}" height="18" '
                 f'width="{wide:.1f}" fill="{BLUE}"/><text x="{186 + wide:.1f}" y="{y + 14}">{count}</text>')
    return svg(f"{name}: most frequent values", body, 56 + len(top) * 24)


def series(date_name, name, dates, numbers):
    days = (max(dates.values()) - min(dates.values())).days
    pattern = "%Y-%m-%d" if days <= 90 else "%Y-%m"
    sums = Counter()
    for row, date in dates.items():
        if row in numbers:
            sums[date.strftime(pattern)] += numbers[row]
    points = sorted(sums.items())
    low, high = min(0, *sums.values(), 0), max(0, *sums.values(), 0)
    span = (high - low) or 1
    places = [(60 + index * 550 / max(1, len(points) - 1), 220 - (value - low) / span * 170)
              for index, (_, value) in enumerate(points)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    body = (f'<polyline points="{line}" fill="none" stroke="{BLUE}" stroke-width="2"/>'
            + "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{BLUE}"/>' for x, y in places[:200])
            + f'<line x1="60" x2="610" y1="220" y2="220" stroke="#666"/><text x="60" y="240">{points[0][0]}</text>'
            f'<text x="610" y="240" text-anchor="end">{points[-1][0]}</text>'
            f'<text x="54" y="56" text-anchor="end">{label(high)}</text>'
            f'<text x="54" y="224" text-anchor="end">{label(low)}</text>')
    return svg(f"{name}: sum by {date_name}, per {'day' if days <= 90 else 'month'}", body)


def correlations(columns, parsed):
    names = [c["name"] for c in columns if c["type"] in ("integer", "number") and not c.get("possible_identifier")][:30]
    found = []
    for index, left in enumerate(names):
        for right in names[index + 1:]:
            rows = parsed[left].keys() & parsed[right].keys()
            xs, ys = [parsed[left][r] for r in rows], [parsed[right][r] for r in rows]
            if len(rows) >= 10 and len(set(xs)) > 1 and len(set(ys)) > 1:
                value = statistics.correlation(xs, ys)
                if abs(value) >= 0.7:
                    found.append({"columns": [left, right], "r": round(value, 3), "rows": len(rows)})
    return found


def facts(column):
    stats = column.get("stats", {})
    if column["type"] in ("integer", "number"):
        return (f"min {stats['min']}, median {stats['median']}, mean {stats['mean']}, max {stats['max']}, "
                f"{column['outliers']['count']} outlier(s)")
    if column["type"] in ("date", "datetime"):
        return f"{stats['first']} to {stats['last']} ({stats['days']} days)"
    return ", ".join(f"{item['value']} ({item['count']})" for item in column.get("top", [])[:3])


def cell(text):
    return str(text).replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input")
    parser.add_argument("--out", required=True, help="folder for the report")
    parser.add_argument("--title")
    parser.add_argument("--delimiter")
    parser.add_argument("--no-header", action="store_true")
    parser.add_argument("--chart", action="append", default=[], help="column to draw; repeatable")
    parser.add_argument("--findings", help="Markdown or text file to put at the top of the report")
    args = parser.parse_args()
    text = read_text(args.input)
    if not text.strip():
        fail(f"{args.input} is empty; pass a CSV file with a header and at least one row")
    delimiter = (args.delimiter or guess_delimiter(text)).replace("\\t", "\t")
    if len(delimiter) != 1:
        fail("--delimiter must be one character, for example ';' or '\\t'")
    csv.field_size_limit(MAX_BYTES)
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if any(c.strip() for c in row)]
    except csv.Error as problem:
        fail(f"{args.input} is not readable as CSV ({problem}); check quotes or pass --delimiter")
    warnings = []
    width = max(len(row) for row in rows)
    head = [f"column_{i + 1}" for i in range(width)] if args.no_header else [c.strip() for c in rows.pop(0)]
    if not rows:
        fail(f"{args.input} has a header but no rows; nothing to report")
    names, seen = [], Counter()
    for index in range(width):
        name = head[index] if index < len(head) and head[index] else f"column_{index + 1}"
        seen[name] += 1
        if seen[name] > 1:
            warnings.append(f"two columns are called '{name}'")
            name = f"{name}_{seen[name]}"
        names.append(name)
    ragged = sum(len(row) != len(head) for row in rows)
    if ragged:
        warnings.append(f"{ragged} row(s) have another number of cells than the header ({len(head)})")
    repeated = len(rows) - len({tuple(row) for row in rows})
    if repeated:
        warnings.append(f"{repeated} row(s) repeat another row exactly")
    for name in args.chart:
        if name not in names:
            fail(f"no column '{name}' to draw; columns are: {', '.join(names)}")
    columns, parsed = [], {}
    for index, name in enumerate(names):
        values = [(number + 1, row[index] if index < len(row) else "") for number, row in enumerate(rows)]
        column, parsed[name], notes = profile_column(name, values, delimiter in ";\t")
        columns.append(column)
        warnings += notes
    by_name = {column["name"]: column for column in columns}
    charts = []
    numeric = [c["name"] for c in columns if c["type"] in ("integer", "number") and not c.get("possible_identifier")]
    dated = [c["name"] for c in columns if c["type"] in ("date", "datetime")]
    texts = [c["name"] for c in columns if c["type"] in ("text", "boolean") and not c.get("possible_identifier")
             and c["distinct"] <= 30]
    chosen = args.chart or (numeric[:3] + texts[:2])
    if dated:
        for name in [n for n in chosen if n in numeric][:2]:
            if parsed[dated[0]].keys() & parsed[name].keys():
                charts.append(series(dated[0], name, parsed[dated[0]], parsed[name]))
    for name in chosen:
        kind = by_name[name]["type"]
        if kind in ("integer", "number"):
            charts.append(histogram(name, list(parsed[name].values())))
        elif kind != "empty":
            charts.append(bars(name, [str(value) for value in parsed[name].values()]))
    title = args.title or Path(args.input).name
    result = {"file": Path(args.input).name, "rows": len(rows), "columns": columns, "delimiter": delimiter,
              "correlations": correlations(columns, parsed), "warnings": warnings, "charts": len(charts)}
    findings = read_text(args.findings).strip() if args.findings else ""
    head_row = ["Column", "Type", "Present", "Missing", "Distinct", "Facts"]
    table = [[c["name"], c["type"] + (" (possible identifier)" if c.get("possible_identifier") else ""), c["count"],
              c["missing"], c["distinct"], facts(c)] for c in columns]
    related = [f"{' and '.join(c['columns'])}: r = {c['r']} over {c['rows']} rows" for c in result["correlations"]]
    intro = f"{len(rows)} rows, {len(columns)} columns, {sum(c['missing'] for c in columns)} missing values."
    md = [f"# {title}", "", intro, ""] + ([findings, ""] if findings else [])
    md += ["## Columns", "", "| " + " | ".join(head_row) + " |", "|" + " --- |" * len(head_row)]
    md += ["| " + " | ".join(cell(value) for value in row) + " |" for row in table]
    for heading, items in (("Warnings", warnings), ("Correlations", related)):
        md += ["", f"## {heading}", ""] + ([f"- {cell(item)}" for item in items] or ["None."])
    md += ["", "## Charts", ""] + [f"![Chart {n + 1}](chart-{n + 1}.svg)\n" for n in range(len(charts))]
    esc = lambda value: html.escape(str(value))
    page = (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{esc(title)}</title><style>'
            "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
            "table{border-collapse:collapse;width:100%}td,th{border:1px solid #ccc;padding:.3rem .5rem;text-align:left}"
            f"svg{{max-width:100%}}</style></head><body><h1>{esc(title)}</h1><p>{intro}</p>"
            + "".join(f"<p>{esc(part)}</p>" for part in findings.split("\n\n") if part)
            + "<h2>Columns</h2><table><tr>" + "".join(f"<th>{h}</th>" for h in head_row) + "</tr>"
            + "".join("<tr>" + "".join(f"<td>{esc(v)}</td>" for v in row) + "</tr>" for row in table) + "</table>"
            + "".join(f"<h2>{heading}</h2><ul>" + "".join(f"<li>{esc(i)}</li>" for i in items or ["None."]) + "</ul>"
                      for heading, items in (("Warnings", warnings), ("Correlations", related)))
            + "<h2>Charts</h2>" + "".join(charts) + "</body></html>\n")
    inputs = [args.input] + ([args.findings] if args.findings else [])
    out = Path(args.out)
    print(f"{len(rows)} rows, {len(columns)} columns, delimiter {delimiter!r}, {len(warnings)} warning(s)")
    write_text(out / "profile.json", json.dumps(result, indent=2, ensure_ascii=False) + "\n", inputs)
    write_text(out / "report.md", "\n".join(md).rstrip() + "\n", inputs)
    write_text(out / "report.html", page, inputs)
    for number, chart in enumerate(charts):
        write_text(out / f"chart-{number + 1}.svg", chart, inputs)


if __name__ == "__main__":
    main()
