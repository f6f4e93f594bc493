"""Draft invoice fields from text, check an extracted invoice, export invoices as CSV."""
import argparse
import csv
import io
import json
import re
import sys
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
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


IBAN_LENGTH = {"AD": 24, "AT": 20, "BE": 16, "BG": 22, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "EE": 20, "ES": 24, "FI": 18,
               "FR": 27, "GB": 22, "GI": 23, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IS": 26, "IT": 27, "LI": 21, "LT": 20, "LU": 20,
               "LV": 21, "MC": 27, "MT": 31, "NL": 18, "NO": 15, "PL": 28, "PT": 25, "RO": 24, "SE": 24, "SI": 19, "SK": 24, "SM": 27,
               "TR": 26, "AE": 23, "SA": 24, "IL": 23, "UA": 29, "RS": 22, "BA": 20, "MD": 24}
RATES = {"DE": {"19", "7", "0"}, "AT": {"20", "13", "10", "0"}, "CH": {"8.1", "3.8", "2.6", "0"}, "FR": {"20", "10", "5.5", "2.1", "0"},
         "IT": {"22", "10", "5", "4", "0"}, "ES": {"21", "10", "4", "0"}, "NL": {"21", "9", "0"}, "PL": {"23", "8", "5", "0"},
         "GB": {"20", "5", "0"}}
VAT_ID = {"DE": r"DE\d{9}", "AT": r"ATU\d{8}", "FR": r"FR[0-9A-Z]{2}\d{9}", "IT": r"IT\d{11}", "ES": r"ES[0-9A-Z]\d{7}[0-9A-Z]",
          "NL": r"NL\d{9}B\d{2}", "PL": r"PL\d{10}", "BE": r"BE[01]\d{9}", "GB": r"GB(?:\d{9}|\d{12})"}
MONTHS = {name: index + 1 for index, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split())}
AMOUNT = re.compile(r"-?\d{1,3}(?:[.,' \u00a0\u202f]\d{3})*[.,]\d{2}(?!\d)|-?\d+[.,]\d{2}(?!\d)")
CENT = Decimal("0.01")


def amount_of(value):
    if not isinstance(value, str) or not re.fullmatch(r"-?\d{1,15}(?:\.\d{1,6})?", value):
        return None
    try:
        return Decimal(value)
    except InvalidOperation:
        return None


def printed(text):
    """An amount as printed, with any separators, as a Decimal."""
    text = re.sub(r"[' \u00a0\u202f]", "", text)
    whole, cents = text[:-3], text[-2:]
    return Decimal(f"{re.sub(r'[.,]', '', whole) or '0'}.{cents}") if whole != "-" else Decimal(f"-0.{cents}")


def iso(value):
    try:
        return date.fromisoformat(value) if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value) else None
    except ValueError:
        return None


def iban_problem(value):
    iban = re.sub(r"\s", "", str(value)).upper()
    if not re.fullmatch(r"[A-Z]{2}\d{2}[0-9A-Z]{8,30}", iban):
        return "has not the form of an IBAN"
    wanted = IBAN_LENGTH.get(iban[:2])
    if wanted and len(iban) != wanted:
        return f"has {len(iban)} characters, {iban[:2]} needs {wanted}"
    if int("".join(str(int(char, 36)) for char in iban[4:] + iban[:4])) % 97 != 1:
        return "has a wrong checksum; a digit is misread or false"
    return None


def find_date(text):
    found = re.search(r"\b(\d{4})-(\d\d)-(\d\d)\b", text)
    if found:
        return found[0] if iso(found[0]) else None
    found = re.search(r"\b(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})\b", text)
    if found:
        made = f"{found[3]}-{int(found[2]):02}-{int(found[1]):02}"
        return made if iso(made) else None
    found = re.search(r"\b(\d{1,2})\.? ([A-Za-z]{3})[a-z]*\.?,? (\d{4})\b|\b([A-Z][a-z]{2})[a-z]*\.? (\d{1,2}),? (\d{4})\b", text)
    if found:
        day, month, year = (found[1], found[2], found[3]) if found[1] else (found[5], found[4], found[6])
        if month.lower() in MONTHS:
            made = f"{year}-{MONTHS[month.lower()]:02}-{int(day):02}"
            return made if iso(made) else None
    return None


def draft(text):
    lines = [line.strip()[:2000] for line in text.split("\n")]
    result = {"kind": "credit_note" if re.search(r"credit note|gutschrift|avoir", text, re.I) else "invoice", "number": None, "issued": None,
              "due": None, "currency": None, "seller": {"name": next((line for line in lines if line), None), "vat_id": None, "country": None},
              "buyer": None, "lines": [], "vat": [], "net": None, "vat_total": None, "gross": None, "iban": None, "note": None}
    found = re.search(r"(?:invoice|rechnung|facture|fattura|factura|credit note|gutschrift)s?[ -]*(?:no|nr|number|nummer|n°|num)?[.:# ]*\s*"
                      r"([A-Z0-9][A-Z0-9/_-]*\d[A-Z0-9/_-]*)", text, re.I)
    result["number"] = found[1] if found else None
    found = re.search(r"\b(EUR|USD|GBP|CHF|PLN|SEK|NOK|DKK|CZK|HUF)\b|([€$£])", text)
    result["currency"] = (found[1] or {"€": "EUR", "$": "USD", "£": "GBP"}[found[2]]) if found else None
    for found in re.finditer(r"\b([A-Z]{2}\d{2}(?: ?[0-9A-Z]{4}){2,7}(?: ?[0-9A-Z]{1,3})?)\b", text):
        value = re.sub(r"\s", "", found[1])
        if value[:2] in IBAN_LENGTH:
            result["iban"] = value[:IBAN_LENGTH[value[:2]]]
            break
    found = re.search("|".join(rf"\b{pattern}\b" for pattern in VAT_ID.values()), text)
    if found:
        result["seller"].update(vat_id=found[0], country=found[0][:2])
    for line in lines:
        low, when = line.lower(), find_date(line)
        amounts = AMOUNT.findall(line)
        value = str(printed(amounts[-1])) if amounts else None
        if when and re.search(r"\bdue\b|fällig|zahlbar|échéance|scadenza", low):
            result["due"] = result["due"] or when
        elif when and not re.search(r"deliver|liefer|leistung|period", low):
            result["issued"] = result["issued"] or when
        row = re.match(r"(\d+(?:[.,]\d+)?)\s*(?:x|×|pcs?|stk\.?)\s+(.*?)\s{2,}", line, re.I)
        if row and len(amounts) >= 2:
            result["lines"].append({"description": row[2], "quantity": row[1].replace(",", "."), "unit_price": str(printed(amounts[-2])),
                                    "amount": value})
        elif value and re.search(r"\b(?:vat|mwst|ust|tva|iva|tax)\b", low) and "%" in line and not re.search(r"incl|inkl|total|net\b|netto", low):
            rate = re.search(r"(\d{1,2}(?:[.,]\d)?)\s*%", line)
            if rate:
                result["vat"].append({"rate": rate[1].replace(",", "."), "base": None, "amount": value})
        elif value and re.search(r"\b(?:sub-?total|net|netto|net amount|nettobetrag|total ht)\b", low):
            result["net"] = value
        elif value and re.search(r"\b(?:total|gesamt\w*|summe|amount due|grand total|brutto|rechnungsbetrag|ttc)\b", low):
            result["gross"] = value
    if len(result["vat"]) == 1:
        result["vat"][0]["base"], result["vat_total"] = result["net"], result["vat"][0]["amount"]
    return result


def check(data, text):
    errors, warnings = [], []
    for field in ("number", "currency"):
        if not isinstance(data.get(field), str) or not data[field].strip():
            errors.append(f"{field} is required")
    if data.get("kind") not in ("invoice", "credit_note"):
        errors.append("kind must be invoice or credit_note")
    if isinstance(data.get("currency"), str) and not re.fullmatch(r"[A-Z]{3}", data["currency"]):
        errors.append(f"currency '{data['currency']}' must have three capital letters, such as EUR")
    seller = data.get("seller") if isinstance(data.get("seller"), dict) else {}
    if not seller.get("name"):
        errors.append("seller.name is required")
    for role in ("seller", "buyer"):
        vat_id = (data.get(role) or {}).get("vat_id") if isinstance(data.get(role), dict) else None
        if vat_id:
            pattern = VAT_ID.get(str(vat_id)[:2])
            if pattern and not re.fullmatch(pattern, re.sub(r"[\s.-]", "", str(vat_id))):
                errors.append(f"{role}.vat_id '{vat_id}' has not the form of its country")
    dates = {}
    for field in ("issued", "due", "delivered"):
        if data.get(field) is not None:
            dates[field] = iso(data[field])
            if not dates[field]:
                errors.append(f"{field} '{data[field]}' is no date such as 2026-03-04")
    if data.get("issued") is None:
        errors.append("issued is required")
    if dates.get("issued"):
        if dates["issued"] > datetime.now(timezone.utc).date() + timedelta(1):
            errors.append(f"issued {dates['issued']} lies in the future")
        if dates["issued"].year < 1990:
            errors.append(f"issued {dates['issued']} is too old to be right")
        if dates.get("due") and dates["due"] < dates["issued"]:
            errors.append(f"due {dates['due']} lies before issued {dates['issued']}")
    amounts = {}

    def take(holder, field, where, required=False):
        value = holder.get(field)
        if value is None:
            if required:
                errors.append(f"{where} is required")
            return None
        result = amount_of(value)
        if result is None:
            errors.append(f"{where} must be a string such as \"1234.50\", found {json.dumps(value)[:40]}")
        else:
            amounts[where] = result
        return result

    gross, net, vat_total = take(data, "gross", "gross", True), take(data, "net", "net"), take(data, "vat_total", "vat_total")

    def compare(left, right, what, tolerance):
        if abs(left - right) > tolerance:
            errors.append(f"{what}: {left.quantize(CENT)} calculated, {right.quantize(CENT)} printed, difference {(right - left).quantize(CENT)}")

    lines = data.get("lines") or []
    vat = data.get("vat") or []
    if not isinstance(lines, list) or not isinstance(vat, list) or not all(isinstance(item, dict) for item in [*lines, *vat]):
        fail("'lines' and 'vat' must be lists of objects; see assets/invoice-example.json")
    sums = []
    for index, line in enumerate(lines, 1):
        quantity, price, amount = (take(line, field, f"lines[{index}].{field}", field == "amount") for field in ("quantity", "unit_price", "amount"))
        if None not in (quantity, price, amount):
            compare(quantity * price, amount, f"line {index}: quantity × unit price", CENT)
        sums.append(amount)
    if sums and None not in sums:
        target, name = (gross, "gross") if data.get("lines_gross") else (net if net is not None else gross, "net" if net is not None else "gross")
        if target is not None:
            compare(sum(sums), target, f"sum of the lines against {name}", Decimal("0.02"))
    elif not lines:
        warnings.append("no lines: the sum of the lines is not checked")
    bases, taxes = [], []
    for index, entry in enumerate(vat, 1):
        rate, base, tax = (take(entry, field, f"vat[{index}].{field}", field != "base") for field in ("rate", "base", "amount"))
        if None not in (rate, base, tax):
            compare(base * rate / 100, tax, f"VAT {rate} %", Decimal("0.02"))
        usual = RATES.get(str(seller.get("country")))
        if rate is not None and usual and not any(Decimal(known) == rate for known in usual):
            warnings.append(f"VAT rate {rate} % is unusual in {seller['country']}")
        bases.append(base)
        taxes.append(tax)
    if vat and None not in bases and net is not None:
        compare(sum(bases), net, "sum of the VAT bases against net", Decimal("0.02"))
    if vat and None not in taxes and vat_total is not None:
        compare(sum(taxes), vat_total, "sum of the VAT amounts against vat_total", Decimal("0.02"))
    if None not in (net, vat_total, gross):
        compare(net + vat_total, gross, "net + VAT against gross", Decimal("0.02"))
    elif gross is not None:
        warnings.append("net or vat_total is absent: net + VAT = gross is not checked")
    if gross is not None and (gross < 0) != (data.get("kind") == "credit_note") and gross != 0:
        warnings.append(f"gross {gross} does not go with kind {data.get('kind')}")
    if data.get("iban"):
        problem = iban_problem(data["iban"])
        if problem:
            errors.append(f"iban {data['iban']} {problem}")
    if text is not None:
        known = {printed(found) for found in AMOUNT.findall(text)}
        known |= {-value for value in known}
        numbers = {Decimal(value.replace(",", ".")) for value in re.findall(r"\d{1,15}(?:[.,]\d{1,6})?", text)}
        for where, value in amounts.items():
            pool = known | numbers if where.endswith(("quantity", "rate", "unit_price")) or value == value.to_integral() else known
            if value not in pool and abs(value) not in pool:
                errors.append(f"{where} {value} does not occur in the text")
        squeezed = re.sub(r"\s", "", text).upper()
        for field in ("number", "iban"):
            if data.get(field) and re.sub(r"\s", "", str(data[field])).upper() not in squeezed:
                errors.append(f"{field} '{data[field]}' does not occur in the text")
    return errors, warnings


def load(path):
    try:
        data = json.loads(read_text(path))
    except (ValueError, RecursionError) as problem:
        fail(f"{path} is not JSON ({problem}); write it in the form of assets/invoice-example.json")
    if not isinstance(data, dict):
        fail(f"{path} must hold one invoice as an object; see assets/invoice-example.json")
    return data


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("draft")
    one.add_argument("text")
    one.add_argument("--out", required=True)
    two = commands.add_parser("check")
    two.add_argument("invoice")
    two.add_argument("--text")
    three = commands.add_parser("csv")
    three.add_argument("invoices", nargs="+")
    three.add_argument("--out", required=True)
    args = parser.parse_args()
    if args.command == "draft":
        text = read_text(args.text)
        if not text.strip():
            fail(f"{args.text} is empty; pass the text of an invoice")
        result = draft(text)
        empty = [field for field in ("number", "issued", "currency", "net", "vat_total", "gross", "iban") if not result[field]]
        print("not found: " + (", ".join(empty) or "nothing") + "; a draft only, read the text yourself")
        write_text(args.out, json.dumps(result, indent=2, ensure_ascii=False) + "\n", [args.text])
    elif args.command == "check":
        errors, warnings = check(load(args.invoice), read_text(args.text) if args.text else None)
        for message in errors:
            print(f"ERROR {message}")
        for message in warnings:
            print(f"WARN {message}")
        print(f"{len(errors)} error(s), {len(warnings)} warning(s)")
        sys.exit(1 if errors else 0)
    else:
        columns = ["file", "kind", "number", "issued", "due", "seller", "seller_vat_id", "buyer", "currency", "net", "vat_total", "gross", "iban",
                   "errors"]
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\r\n")
        writer.writerow(columns)
        money = {"net", "vat_total", "gross"}
        for path in args.invoices:
            data = load(path)
            errors, _ = check(data, None)
            party = lambda role, field: (data.get(role) or {}).get(field) if isinstance(data.get(role), dict) else None
            row = {**{key: data.get(key) for key in columns}, "file": Path(path).name, "seller": party("seller", "name"),
                   "seller_vat_id": party("seller", "vat_id"), "buyer": party("buyer", "name"), "errors": len(errors)}
            safe = lambda key, value: "'" + value if key not in money and value[:1] in ("=", "+", "-", "@", "\t") else value
            writer.writerow([safe(key, "" if row[key] is None else str(row[key])) for key in columns])
        print(f"{len(args.invoices)} invoice(s)")
        write_text(args.out, out.getvalue(), args.invoices)


if __name__ == "__main__":
    main()
