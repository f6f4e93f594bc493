"""Outline SQL statements: tables, joins, filters, grouping, and risks. Reads the text only, runs nothing."""
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


TOKEN = r"""
  (?P<space>\s+)
| (?P<comment>--[^\n]*|HASH|/\*.*?\*/)
| (?P<string>[Ee]'(?:[^'\\]|''|\\.)*'|[NnXxBb]?TEXT|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)
| (?P<name>"(?:[^"]|"")*"|`[^`]*`|\[[A-Za-z_][^\]\[]*\]|TEMP|[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)
| (?P<param>\$\d+|:[A-Za-z_]\w*|@@?[A-Za-z_]\w*|%s|%\(\w+\)s|\?)
| (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)
| (?P<op>::|<=>|<>|!=|>=|<=|\|\||->>|->|\#>>|\#>|\#|@>|<@|[-+*/%=<>(),.;~^&|!:\[\]{}])
"""
NEVER = "(?!)"


def token_pattern(dialect):
    """MySQL: # comments and backslashes in texts. SQL Server: #temporary tables."""
    mysql = dialect == "mysql"
    source = TOKEN.replace("HASH", r"\#[^\n]*" if mysql else NEVER)
    source = source.replace("TEMP", r"\#{1,2}[A-Za-z_]\w*" if dialect == "sqlserver" else NEVER)
    return re.compile(source.replace("TEXT", r"'(?:[^'\\]|''|\\.)*'" if mysql else "'(?:[^']|'')*'"), re.X | re.S)


JOIN_WORDS = {"join", "inner", "left", "right", "full", "cross", "outer", "natural", "lateral", "straight_join"}
CLAUSES = {"select", "from", "where", "group", "having", "order", "limit", "offset", "fetch", "union", "except", "intersect",
           "window", "set", "values", "returning", "on", "using", "qualify", "for"}
KINDS = {"select", "insert", "update", "delete", "merge", "truncate", "drop", "alter", "create", "grant", "revoke", "with",
         "replace", "explain", "begin", "commit", "rollback", "set", "values", "use", "pragma", "show", "call", "exec",
         "declare", "start", "table", "vacuum", "analyze", "copy", "lock", "savepoint"}
AGGREGATES = {"count", "sum", "avg", "min", "max", "array_agg", "string_agg", "group_concat", "json_agg", "jsonb_agg"}
NOT_ALIAS = CLAUSES | JOIN_WORDS | {"as", "and", "or", "not", "with", "when", "tablesample", "force", "ignore", "use"}


class Token:
    __slots__ = ("kind", "text", "low", "start", "end", "depth")

    def __init__(self, kind, text, start, end, depth):
        self.kind, self.text, self.start, self.end, self.depth = kind, text, start, end, depth
        quoted = text[:1] in "\"`["
        self.low = text if kind == "name" and quoted else text.lower()


def tokenize(sql, path, dialect):
    pattern = token_pattern(dialect)
    tokens, place, depth = [], 0, 0
    while place < len(sql):
        found = pattern.match(sql, place)
        if not found:
            line = sql.count("\n", 0, place) + 1
            hint = "a quote or comment is not closed" if sql[place] in "'\"`[/$" else "unknown character"
            fail(f"{path}:{line}: cannot read '{sql[place:place + 20].splitlines()[0]}' ({hint}); correct the file")
        if found.lastgroup == "tag":
            kind = "string"
        else:
            kind = next(k for k in ("space", "comment", "string", "name", "param", "number", "op") if found[k] is not None)
        if kind not in ("space", "comment"):
            text = found[0]
            if text == ")":
                depth -= 1
                if depth < 0:
                    fail(f"{path}:{sql.count(chr(10), 0, place) + 1}: one ')' too many; correct the file")
            tokens.append(Token(kind, text, place, found.end(), depth))
            if text == "(":
                depth += 1
        place = found.end()
    if depth:
        fail(f"{path}: {depth} '(' not closed; correct the file")
    return tokens


def statements(tokens):
    current, result = [], []
    for token in tokens:
        if token.text == ";" and token.depth == 0:
            if current:
                result.append(current)
            current = []
        else:
            current.append(token)
    return result + ([current] if current else [])


def text_of(sql, tokens):
    return re.sub(r"\s+", " ", sql[tokens[0].start:tokens[-1].end]).strip() if tokens else ""


def scopes(tokens):
    """Every query block: the statement itself and each parenthesis that begins with SELECT, WITH or VALUES."""
    found = [(tokens, "main")]
    for index, token in enumerate(tokens[:-1]):
        if token.text == "(" and tokens[index + 1].low in ("select", "with"):
            end = next((i for i in range(index + 1, len(tokens)) if tokens[i].text == ")" and tokens[i].depth == token.depth), None)
            if end:
                named = index >= 2 and tokens[index - 1].low == "as" and tokens[index - 2].kind == "name"
                found.append((tokens[index + 1:end], f"CTE {tokens[index - 2].text}" if named else "subquery"))
    return found


def clauses(block):
    """Split one query block at its own level into branches of UNION and clauses."""
    level = min(token.depth for token in block)
    branches, current, name = [], [], "head"
    parts = {}
    between = False
    for token in block:
        if token.depth == level and token.kind == "name":
            if token.low in ("union", "except", "intersect"):
                parts.setdefault(name, []).extend(current)
                branches.append(parts)
                parts, current, name = {}, [], "setop"
                current = [token]
                continue
            if token.low in ("select", "from", "where", "having", "limit", "returning", "values", "set", "offset", "fetch", "window") \
                    or (token.low in ("group", "order")):
                if not (token.low == "from" and between):
                    parts.setdefault(name, []).extend(current)
                    current, name = [], token.low
                    continue
            between = token.low == "distinct" and name == "select"
        else:
            between = False
        current.append(token)
    parts.setdefault(name, []).extend(current)
    branches.append(parts)
    return branches, level


def split_top(tokens, level, words):
    parts, current, between = [], [], False
    case = 0
    for token in tokens:
        if token.depth == level and token.kind == "name":
            case += token.low == "case"
            case -= token.low == "end" and case > 0
            between = between or token.low == "between"
            if token.low in words and not case:
                if token.low == "and" and between:
                    between = False
                else:
                    parts.append(current)
                    current = []
                    continue
        elif token.depth == level and token.text in words:
            parts.append(current)
            current = []
            continue
        current.append(token)
    return [part for part in parts + [current] if part]


def table_at(tokens, index, sql, depth):
    """A table name, or a parenthesis, with its alias."""
    while index < len(tokens) and tokens[index].low in ("only", "lateral"):
        index += 1
    if index >= len(tokens):
        return None, index
    if tokens[index].text == "(":
        end = next((i for i in range(index + 1, len(tokens)) if tokens[i].text == ")" and tokens[i].depth == tokens[index].depth), index)
        name, index = "(subquery)", end + 1
    elif tokens[index].kind == "name":
        parts = [tokens[index].text]
        index += 1
        while index + 1 < len(tokens) and tokens[index].text == "." and tokens[index + 1].kind == "name":
            parts.append(tokens[index + 1].text)
            index += 2
        name = ".".join(parts)
        if index < len(tokens) and tokens[index].text == "(" and tokens[index].depth == depth:
            end = next((i for i in range(index + 1, len(tokens)) if tokens[i].text == ")" and tokens[i].depth == depth), index)
            name, index = f"{name}()", end + 1
    else:
        return None, index + 1
    alias = None
    if index < len(tokens) and tokens[index].low == "as":
        index += 1
    if index < len(tokens) and tokens[index].kind == "name" and tokens[index].low not in NOT_ALIAS:
        alias = tokens[index].text
        index += 1
    return {"table": name, "alias": alias}, index


def read_from(tokens, level, sql):
    tables, joins = [], []
    index, first = 0, True
    while index < len(tokens):
        words = []
        comma = False
        if not first:
            if tokens[index].text == "," and tokens[index].depth == level:
                comma = True
                index += 1
            else:
                while index < len(tokens) and tokens[index].low in JOIN_WORDS and tokens[index].depth == level:
                    words.append(tokens[index].low)
                    index += 1
                if not words:
                    index += 1
                    continue
        table, index = table_at(tokens, index, sql, level)
        if table is None:
            continue
        tables.append(table)
        if first:
            first = False
            continue
        kind = "comma" if comma else " ".join(w for w in words if w not in ("outer", "lateral")).upper()
        condition = []
        if index < len(tokens) and tokens[index].low in ("on", "using") and tokens[index].depth == level:
            index += 1
            while index < len(tokens) and not (tokens[index].depth == level and (tokens[index].low in JOIN_WORDS or tokens[index].text == ",")
                                               and not (tokens[index].low in ("left", "right") and index + 1 < len(tokens)
                                                        and tokens[index + 1].text == "(")):
                condition.append(tokens[index])
                index += 1
        joins.append({"type": kind, **table, "on": text_of(sql, condition) or None})
    return tables, joins


def outline(tokens, sql, dialect):
    kind = tokens[0].low if tokens[0].kind == "name" else "?"
    risks = []

    def risk(severity, code, text):
        if not any(r["code"] == code and r["text"] == text for r in risks):
            risks.append({"severity": severity, "code": code, "text": text})

    main_kind = kind
    if kind in ("with", "explain"):
        main_kind = next((t.low for t in tokens[1:] if t.depth == 0 and t.low in ("select", "insert", "update", "delete", "merge")), kind)
    if main_kind not in KINDS:
        risk("medium", "unknown-statement", f"'{tokens[0].text[:30]}' starts no known statement; the outline may be wrong")
    blocks = []
    ctes = [role[4:] for _, role in scopes(tokens) if role.startswith("CTE ")]
    for block, role in scopes(tokens):
        branches, level = clauses(block)
        for number, parts in enumerate(branches):
            head = parts.get("head") or []
            entry = {"block": role if len(branches) == 1 else f"{role}, branch {number + 1}"}
            if parts.get("setop"):
                entry["set_operation"] = text_of(sql, [t for t in parts["setop"] if t.low in ("union", "except", "intersect", "all")])
                if entry["set_operation"].lower() == "union":
                    risk("low", "union-distinct", "UNION removes duplicates; if there are none, UNION ALL is cheaper")
            tables, joins = read_from(parts.get("from") or [], level, sql)
            if role == "main" and main_kind in ("update", "insert", "delete", "merge", "truncate", "drop", "alter", "replace"):
                names = [t for t in head if t.depth == level]
                at = next((i + 1 for i, t in enumerate(names) if t.low == main_kind), 1)
                while at < len(names) and names[at].low in ("into", "table", "only", "if", "exists", "ignore", "or", "replace",
                                                            "view", "index", "from", "top"):
                    at += 1
                target, after = table_at(names, at, sql, level)
                if target and not (main_kind == "delete" and tables):
                    tables, more = read_from(names[at:], level, sql) if main_kind == "update" else ([target], [])
                    more_tables, more_joins = read_from(parts.get("from") or [], level, sql)
                    tables, joins = tables + more_tables, more + more_joins
            entry["tables"], entry["joins"] = tables, joins
            where = parts.get("where") or []
            filters = split_top(where, level, {"and"})
            entry["filters"] = [text_of(sql, part) for part in filters]
            for clause in ("group", "having", "order", "limit", "set"):
                if parts.get(clause):
                    entry[clause] = re.sub(r"(?i)^by\s+", "", text_of(sql, parts[clause]))
            select = parts.get("select") or []
            if select:
                entry["columns"] = [text_of(sql, part) for part in split_top(select, level, {","})][:60]
                entry["aggregates"] = sorted({t.low for i, t in enumerate(select[:-1]) if t.low in AGGREGATES and select[i + 1].text == "("})
                starred = [c for c in entry["columns"] if re.fullmatch(r"(?i)(?:distinct\s+|all\s+)?(?:[\w\"`\[\]]+\.)?\*", c)]
                guarded = role == "subquery" and re.search(rf"(?i)exists\s*\(\s*{re.escape(sql[block[0].start:block[0].start + 30])}", sql)
                if starred and not guarded:
                    risk("low", "select-star", f"SELECT * in the {role}: columns change with the table; name them")
                top = any(t.low == "top" for t in select[:3])
                if (parts.get("limit") or parts.get("fetch") or top) and not parts.get("order"):
                    risk("medium", "limit-without-order", f"rows are cut in the {role} without ORDER BY: which ones is undefined")
                if entry["aggregates"] and len(entry["columns"]) > 1 and not parts.get("group") and not any(t.low == "over" for t in select):
                    risk("medium", "aggregate-without-group", f"aggregates beside other columns in the {role} without GROUP BY")
            if role == "main" and main_kind in ("update", "delete") and not where:
                risk("high", "missing-where", f"{main_kind.upper()} without WHERE changes every row")
            if filters and len(filters) == 1 and re.fullmatch(r"(?i)1\s*=\s*1|true", text_of(sql, filters[0])):
                risk("high" if main_kind in ("update", "delete") else "low", "where-always-true", "WHERE is always true")
            for join in joins:
                if join["type"] == "comma" and not any("=" in f for f in entry["filters"]):
                    risk("high", "cross-join", f"{join['table']} is joined by a comma without a condition: every pair of rows")
                elif join["type"] == "comma":
                    risk("low", "comma-join", f"{join['table']} is joined by a comma; write JOIN … ON to keep the condition beside it")
                elif not join["on"] and not join["type"].startswith(("CROSS", "NATURAL")) and "lateral" not in join["table"]:
                    risk("high", "cross-join", f"JOIN {join['table']} has no ON or USING")
                elif join["type"].startswith("NATURAL"):
                    risk("medium", "natural-join", f"NATURAL JOIN {join['table']}: a new column of the same name changes the result")
                if join["type"].startswith("LEFT"):
                    name = re.escape(join["alias"] or join["table"].split(".")[-1])
                    for condition in entry["filters"]:
                        if re.search(rf"(?<![\w.]){name}\s*\.", condition, re.I) and not re.search(r"(?i)\bis\s+null\b|coalesce|ifnull|isnull|\bor\b", condition):
                            risk("medium", "outer-join-undone", f"'{condition[:80]}' drops the rows that LEFT JOIN {join['table']} keeps; move it to ON")
                            break
            for source, tokens_ in (("WHERE", where), ("HAVING", parts.get("having") or [])):
                for i, t in enumerate(tokens_[:-1]):
                    following = tokens_[i + 1]
                    if t.low == "in" and i and tokens_[i - 1].low == "not" and following.text == "(" and i + 2 < len(tokens_) and tokens_[i + 2].low == "select":
                        risk("medium", "not-in-null", "NOT IN with a subquery returns nothing if it yields a NULL; use NOT EXISTS")
                    if t.low in ("like", "ilike") and re.match(r"[Nn]?'[%_]", following.text):
                        risk("medium", "leading-wildcard", f"LIKE {following.text[:30]} begins with a wildcard: no ordinary index helps")
                    if t.text in ("=", "<>", "!=") and following.low == "null":
                        risk("high", "equals-null", f"'{t.text} NULL' is never true; use IS NULL or IS NOT NULL")
                    if source == "WHERE" and t.kind == "name" and following.text == "(" and t.low in (
                            "lower", "upper", "date", "year", "month", "trim", "cast", "substr", "substring", "coalesce", "date_trunc",
                            "to_char", "convert", "isnull", "ifnull") and i + 2 < len(tokens_) and tokens_[i + 2].kind in ("name", "string"):
                        risk("low", "function-on-column", f"{t.text}(…) around a column in WHERE prevents an ordinary index")
                if any(t.low == "or" and t.depth == level for t in tokens_) and any(t.low == "and" and t.depth == level for t in tokens_):
                    risk("medium", "and-or-mixed", f"AND and OR are mixed in {source} without parentheses: AND binds first")
                if re.search(r"(?i)\bbetween\b[^)]*'\d{4}-\d\d-\d\d'\s+and\s+'\d{4}-\d\d-\d\d'", text_of(sql, tokens_)):
                    risk("low", "between-dates", "BETWEEN two dates loses the last day on columns with a time; use >= and <")
            blocks.append(entry)
    if main_kind in ("drop", "truncate"):
        risk("high", "destructive", f"{main_kind.upper()} destroys data and may not be undone")
    if main_kind == "alter" and any(t.low == "drop" for t in tokens):
        risk("high", "destructive", "ALTER … DROP destroys data")
    if main_kind in ("grant", "revoke"):
        risk("medium", "permissions", f"{main_kind.upper()} changes who may do what")
    if main_kind in ("insert", "replace") and blocks[0]["tables"]:
        head = clauses(tokens)[0][0].get("head") or []
        if not any(t.text == "(" for t in head):
            risk("medium", "insert-without-columns", "INSERT names no columns: a new column breaks or shifts it")
    if any(t.low == "nolock" for t in tokens):
        risk("medium", "nolock", "NOLOCK may return rows twice, not at all, or never committed")
    if re.search(r"'\s*\"?\s*\+\s*\w+\s*\+\s*\"?\s*'|\{\w+\}|\"\s*\+", sql[tokens[0].start:tokens[-1].end]):
        risk("high", "injection", "text seems to be glued into the SQL; use parameters")
    if dialect == "mysql" and any(t.low == "full" for t in tokens) and any(t.low == "join" for t in tokens):
        risk("high", "unsupported", "MySQL has no FULL JOIN")
    risks.sort(key=lambda r: ("high", "medium", "low").index(r["severity"]))
    return {"statement": text_of(sql, tokens)[:400], "kind": main_kind.upper(), "ctes": ctes,
            "window_functions": sum(t.low == "over" for t in tokens),
            "parameters": sorted({t.text for t in tokens if t.kind == "param"}), "blocks": blocks, "risks": risks}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input")
    parser.add_argument("--out", required=True, help="folder for outline.md and outline.json")
    parser.add_argument("--dialect", choices=["postgresql", "mysql", "sqlite", "sqlserver"], default="postgresql")
    args = parser.parse_args()
    sql = read_text(args.input)
    if len(sql) > 1_000_000:
        fail(f"{args.input} is longer than a million characters; pass the query, not a dump")
    parts = statements(tokenize(sql, args.input, args.dialect))
    if not parts:
        fail(f"{args.input} holds no statement; pass a file with SQL")
    results = [outline(tokens, sql, args.dialect) for tokens in parts]
    md = ["# SQL outline", ""]
    for number, result in enumerate(results, 1):
        md += [f"## {number}. {result['kind']}", "", "```sql", result["statement"].replace("```", "'''"), "```", ""]
        for block in result["blocks"]:
            md.append(f"**{block['block']}**" + (f" ({block['set_operation']})" if block.get("set_operation") else ""))
            md.append("")
            md += [f"- Table: {t['table']}" + (f" as {t['alias']}" if t["alias"] else "") for t in block["tables"]]
            md += [f"- Join: {j['type']} {j['table']}" + (f" on {j['on']}" if j["on"] else "") for j in block["joins"]]
            md += [f"- Filter: {text}" for text in block["filters"]]
            md += [f"- {key.capitalize()}: {block[key]}" for key in ("set", "group", "having", "order", "limit") if block.get(key)]
            md += [f"- Columns: {'; '.join(block['columns'])}"] if block.get("columns") else []
            md.append("")
        md += ["Risks:", ""] + ([f"- **{r['severity']}** {r['code']}: {r['text']}" for r in result["risks"]] or ["- none found"]) + [""]
    worst = [r for result in results for r in result["risks"]]
    for r in worst:
        print(f"{r['severity'].upper()} {r['code']}: {r['text']}")
    print(f"{len(results)} statement(s), {len(worst)} risk(s)")
    out = Path(args.out)
    write_text(out / "outline.md", "\n".join(md).rstrip() + "\n", [args.input])
    write_text(out / "outline.json", json.dumps({"dialect": args.dialect, "statements": results}, indent=2, ensure_ascii=False) + "\n",
               [args.input])
    sys.exit(1 if any(r["severity"] == "high" for r in worst) else 0)


if __name__ == "__main__":
    main()
