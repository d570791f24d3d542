"""PDFs written by hand: pages of words, pages without, and files that mean harm."""

from __future__ import annotations

import zlib
from collections.abc import Sequence


def a_pdf(pages: Sequence[str], *, title: str = "", compress: bool = False) -> bytes:
    """A PDF whose pages show these words, one line for each line."""
    objects: list[bytes] = []
    first_page = 4
    kids = " ".join(f"{first_page + 2 * n} 0 R" for n in range(len(pages)))
    objects.append(b"<< /Type /Catalog /Pages 2 0 R >>")
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode())
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, words in enumerate(pages):
        stream = f"<< /Font << /F1 3 0 R >> >> /Contents {first_page + 2 * number + 1} 0 R >>"
        objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Resources {stream}".encode())
        shown = " T* ".join(f"({line}) Tj" for line in words.split("\n")) if words else ""
        content = f"BT /F1 12 Tf 14 TL 20 280 Td {shown} ET".encode() if words else b""
        objects.append(a_stream(content, compress=compress))
    info = f"<< /Title ({title}) >>".encode()
    objects.append(info)
    return a_file(objects, info=len(objects) if title else None)


def a_stream(content: bytes, *, compress: bool = False) -> bytes:
    packed = zlib.compress(content, 9) if compress else content
    how = b"/Filter /FlateDecode " if compress else b""
    return b"<< " + how + f"/Length {len(packed)} >>\nstream\n".encode() + packed + b"\nendstream"


def a_file(objects: Sequence[bytes], *, info: int | None = None) -> bytes:
    """*objects*, numbered from 1, with the table that tells where each lies."""
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010d} 00000 n \n".encode() for place in places)
    more = f" /Info {info} 0 R" if info else ""
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R{more} >>\nstartxref\n{table}\n%%EOF\n".encode()
    return bytes(out)


def a_bomb(unpacked_bytes: int) -> bytes:
    """A page whose few packed bytes unfold to very many."""
    packed = zlib.compress(b"(boom) Tj " * (unpacked_bytes // 10), 9)
    stream = f"<< /Filter /FlateDecode /Length {len(packed)} >>\nstream\n".encode() + packed + b"\nendstream"
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Resources << >> /Contents 4 0 R >>"
    return a_file([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page, stream])


def many_pages(count: int) -> bytes:
    """A PDF that has the same page very often."""
    kids = b" ".join([b"3 0 R"] * count)
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Resources << >> >>"
    pages = b"<< /Type /Pages /Kids [" + kids + b"] /Count " + str(count).encode() + b" >>"
    return a_file([b"<< /Type /Catalog /Pages 2 0 R >>", pages, page])
