"""Images and documents as small as they can be."""

import zlib

from folkmoot.domain.part import File

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 24
JPEG = b"\xff\xd8\xff\xe0" + b"\0" * 20
GIF = b"GIF89a" + b"\0" * 10
WEBP = b"RIFF\x10\0\0\0WEBPVP8 "
PDF = b"%PDF-1.7\n1 0 obj <</Type /Pages /Count 2>>\n2 0 obj <</Type/Page>>\n3 0 obj <</Type /Page /Parent 1>>\n"
PACKED = (
    b"%PDF-1.7\n5 0 obj\n<</Type /ObjStm /N 3 /Filter /FlateDecode>>\nstream\n"
    + zlib.compress(b"<</Type /Pages>> <</Type /Page>> <</Type/Page/Rotate 90>> <</Type /Page>>")
    + b"\nendstream"
)
PHOTO = File("photo.png", PNG)
BILL = File("bill.pdf", PDF)
NOTE = File("note.txt", "Grüße".encode())
