#!/usr/bin/env python3
"""Pictures that are small as files and large in memory, one by one and all in one collection.

Prints a row for each with the peak memory of the whole process, at default threads. Fails above 1 GiB.
"""

import io
import struct
import sys
import tempfile
import zlib

import numpy
import pillow_heif
from PIL import Image

import collection
from table import row

LIMIT = 1 << 30
SIDE = 7071  # squared: just below 50,000,000 pixels


def chunk(tag, body):
    return struct.pack(">I", len(body)) + tag + body + struct.pack(">I", zlib.crc32(tag + body))


def png(width, height, depth=8, colour=6, interlaced=False, extra=b""):
    samples = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    passes = [(0, 8, 0, 8), (4, 8, 0, 8), (0, 4, 4, 8), (2, 4, 0, 4), (0, 2, 2, 4), (1, 2, 0, 2), (0, 1, 1, 2)]
    total = 0
    for left, across, top, down in passes if interlaced else [(0, 1, 0, 1)]:
        columns, rows = -(-max(width - left, 0) // across), -(-max(height - top, 0) // down)
        total += rows * (1 + -(-columns * depth * samples // 8)) if columns else 0
    press = zlib.compressobj(9)
    data, block = b"", bytes(1 << 20)
    for start in range(0, total, len(block)):
        data += press.compress(block[: total - start])
    data += press.flush()
    palette = chunk(b"PLTE", bytes(3)) if colour == 3 else b""
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + palette + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def profile():
    """The Display P3 profile of a fixture, as a chunk."""
    file = (collection.FIXTURES / "png-icc-p3.png").read_bytes()
    start = file.index(b"iCCP") - 4
    length = struct.unpack(">I", file[start : start + 4])[0]
    return file[start : start + 12 + length]


def gif(screen, frame):
    bits, count, out = 0, 0, bytearray()

    def put(code, size):
        nonlocal bits, count
        bits |= code << count
        count += size
        while count >= 8:
            out.append(bits & 255)
            bits >>= 8
            count -= 8

    left = frame[0] * frame[1]
    while left > 0:
        put(4, 3)
        size, following, length = 3, 6, 1
        put(0, size)
        left -= 1
        while left > 0 and following < 4095:
            # Each code stands for one pixel more than the one before.
            length = min(length + 1, left)
            put(following if length == following - 4 else 0, size)
            left -= length
            following += 1
            if following == 1 << size and size < 12:
                size += 1
    put(5, size)
    put(0, 7)
    body = b"".join(bytes([len(part)]) + part for part in (bytes(out[at : at + 255]) for at in range(0, len(out), 255)))
    return (b"GIF89a" + struct.pack("<HHBBB", *screen, 0x80, 0, 0) + bytes(6)
            + b"," + struct.pack("<HHHHB", 0, 0, *frame, 0) + b"\x02" + body + b"\0;")


def pillow(kind, size, mode="RGB", **options):
    out = io.BytesIO()
    Image.new(mode, size).save(out, kind, **options)
    return out.getvalue()


def heif(size, mode="RGB", chroma=420, bits=8):
    if bits > 8:
        pixels = numpy.zeros((size[1], size[0], 3), numpy.uint16).tobytes()
        file = pillow_heif.from_bytes("RGB;16", size, pixels)
    else:
        file = pillow_heif.from_pillow(Image.new(mode, size))
    out = io.BytesIO()
    file.save(out, quality=1, chroma=chroma, enc_params={"preset": "ultrafast"})
    return out.getvalue()


def box(tag, body):
    return struct.pack(">I4s", len(body) + 8, tag) + body


def heif_file(kinds, places, properties, links, refers, data):
    """A file of items: their kinds, where their bytes lie, their properties and references; the first is shown."""
    kinds = b"".join(box(b"infe", struct.pack(">IIH4sB", 3 << 24, item, 0, kind, 0)) for item, kind in enumerate(kinds, 1))
    count = kinds.count(b"infe")

    def meta(start):
        return box(b"meta", bytes(4) + box(b"hdlr", bytes(8) + b"pict" + bytes(13)) + box(b"pitm", struct.pack(">II", 1 << 24, 1))
                   + box(b"iloc", places(start)) + box(b"iinf", struct.pack(">II", 1 << 24, count) + kinds)
                   + box(b"iref", struct.pack(">I", 1 << 24) + refers)
                   + box(b"iprp", box(b"ipco", b"".join(properties)) + box(b"ipma", struct.pack(">I", 1 << 24) + links)))

    head = box(b"ftyp", b"heic\0\0\0\0mif1heic")
    start = len(head) + len(meta(0)) + 8
    return head + meta(start) + box(b"mdat", data)


def heif_tile(side):
    """The configuration of a coded picture, as a box, and its data."""
    tile = heif((side, side))
    configuration = tile[tile.index(b"hvcC") - 4 :]
    return configuration[: struct.unpack(">I", configuration[:4])[0]], tile[tile.index(b"mdat") + 4 :]


def size_box(width, height):
    return box(b"ispe", struct.pack(">III", 0, width, height))


def tiles_of(item, parts):
    return box(b"dimg", struct.pack(">IH", item, len(parts)) + b"".join(struct.pack(">I", part) for part in parts))


def heif_grid(tile_side, tiles, output):
    """A grid whose tiles are all the same bytes."""
    configuration, data = heif_tile(tile_side)
    count = tiles[0] * tiles[1]
    items = range(2, count + 2)
    links = struct.pack(">IIBB", count + 1, 1, 1, 3) + b"".join(struct.pack(">IBBB", item, 2, 0x81, 2) for item in items)
    grid = struct.pack(">BBBBII", 0, 1, tiles[1] - 1, tiles[0] - 1, *output)

    def places(start):
        head = struct.pack(">IBBIIHHHII", 2 << 24, 0x44, 0, count + 1, 1, 0, 0, 1, start, len(grid))
        return head + b"".join(struct.pack(">IHHHII", item, 0, 0, 1, start + len(grid), len(data)) for item in items)

    properties = [configuration, size_box(tile_side, tile_side), size_box(*output)]
    return heif_file([b"grid"] + [b"hvc1"] * count, places, properties, links, tiles_of(1, items), grid + data)


def heif_sizeless(items, extents):
    """Items whose extents take no byte of the file; none of them is shown."""
    configuration, data = heif_tile(64)

    def places(start):
        head = struct.pack(">IBBH", 0, 0, 0, items)
        return head + b"".join(struct.pack(">HHH", item, 0, extents) for item in range(1, items + 1))

    return heif_file([b"hvc1"], places, [configuration], struct.pack(">IIBB", 1, 1, 1, 0x81), b"", data)


def heif_named_again(tile_side, tiles, padding):
    """A grid of one tile, named for each of its places, whose configuration is long."""
    configuration, data = heif_tile(tile_side)
    unit = struct.pack(">BHH", 0xA2, 1, padding) + b"\x44\x01" + bytes(padding - 2)
    body = bytearray(configuration[8:] + unit)
    body[22] += 1
    output = (tile_side * tiles[0], tile_side * tiles[1])
    grid = struct.pack(">BBBBII", 0, 1, tiles[1] - 1, tiles[0] - 1, *output)

    def places(start):
        return (struct.pack(">IBBI", 2 << 24, 0x44, 0, 2) + struct.pack(">IHHHII", 1, 0, 0, 1, start, len(grid))
                + struct.pack(">IHHHII", 2, 0, 0, 1, start + len(grid), len(data)))

    links = struct.pack(">IIBBIBB", 2, 1, 1, 2, 2, 1, 0x81)
    refers = tiles_of(1, [2] * (tiles[0] * tiles[1]))
    return heif_file([b"grid", b"hvc1"], places, [box(b"hvcC", bytes(body)), size_box(*output)], links, refers, grid + data)


def heif_read_again(extents):
    """A grid described by all of the file, again and again."""
    configuration, data = heif_tile(64)

    def places(start):
        # As long as everything that stands before the data, which grow with the extents.
        extent = struct.pack(">II", 0, max(start, 8))
        return struct.pack(">IBBHHHH", 0, 0x44, 0, 1, 1, 0, extents) + extent * extents

    return heif_file([b"grid"], places, [configuration], struct.pack(">IIBB", 1, 1, 1, 0x81), b"", data)


def noise(side):
    """A PNG that cannot be compressed: four bytes of the file for each pixel."""
    rows = numpy.random.default_rng(1).integers(0, 256, (side, 1 + 4 * side), numpy.uint8)
    rows[:, 0] = 0
    header = struct.pack(">IIBBBBB", side, side, 8, 6, 0, 0, 0)
    data = zlib.compress(rows.tobytes(), 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def cut(jpeg):
    """The first half of a picture, with an end mark."""
    return jpeg[: len(jpeg) // 2] + b"\xff\xd9"


def bombs():
    square = (SIDE, SIDE)
    icc = profile()
    baseline = pillow("JPEG", square, subsampling=0)
    progressive = pillow("JPEG", square, subsampling=0, progressive=True)
    return {
        "png 50,000,000 x 1.png": png(50_000_000, 1),
        "png 1 x 50,000,000.png": png(1, 50_000_000),
        "png 65,535 x 762, 16 bits.png": png(65_535, 762, 16),
        "png 762 x 65,535, 16 bits, interlaced.png": png(762, 65_535, 16, interlaced=True),
        "png square, 16 bits, alpha.png": png(*square, 16),
        "png square, 16 bits, interlaced, profile.png": png(*square, 16, interlaced=True, extra=icc),
        "png square, 16 bits, grey, profile.png": png(*square, 16, 0, extra=icc),
        "png square, 1 bit, palette.png": png(*square, 1, 3),
        "gif square.gif": gif(square, square),
        "gif screen of one pixel.gif": gif((1, 1), square),
        "webp 16,383 x 3,051.webp": pillow("WEBP", (16_383, 3_051), quality=1, method=0),
        "webp 16,383 x 3,051, lossless, alpha.webp": pillow("WEBP", (16_383, 3_051), "RGBA", lossless=True, method=0),
        "jpeg square.jpg": baseline,
        "jpeg square, progressive.jpg": progressive,
        "jpeg square, CMYK.jpg": pillow("JPEG", square, "CMYK"),
        "jpeg square, half of it.jpg": cut(baseline),
        "jpeg square, progressive, half of it.jpg": cut(progressive),
        "heic grid, equal tiles.heic": heif_grid(64, (110, 110), (7040, 7040)),
        "heic grid, too many tiles.heic": heif_grid(64, (250, 250), (64, 64)),
        "heic, extents that take no bytes.heic": heif_sizeless(1_000, 65_535),
        "heic grid, one tile named again and again.heic": heif_named_again(64, (255, 255), 60_000),
        "heic grid, described by all of the file.heic": heif_read_again(30_000),
        "heic 5,600 x 5,600.heic": heif((5_600, 5_600)),
        "heic 5,600 x 5,600, 4:4:4.heic": heif((5_600, 5_600), chroma=444),
        "heic 4,600 x 4,600, 4:4:4.heic": heif((4_600, 4_600), chroma=444),
        "heic 5,300 x 5,300, 10 bits.heic": heif((5_300, 5_300), bits=10),
        "heic 5,300 x 5,300, alpha.heic": heif((5_300, 5_300), "RGBA"),
    }


def main():
    made = bombs()
    worst = 0
    rows = [({name: data}, name, len(data), []) for name, data in made.items()]
    together = {f"{copy} {name}": data for copy in range(2) for name, data in made.items()}
    rows.append((together, "all of them, twice", sum(map(len, together.values())), []))
    # What is large as a file is held while it is read, written anew, and until its turn to be stored comes.
    large = noise(6_700)
    copies = {f"{copy} large.png": large for copy in range(4)}
    rows.append((copies, "four files of 180 MB, their originals, four threads", 4 * len(large), ["--originals", "--threads", "4"]))
    print(f"{'picture':<46} {'file':>10} {'peak MiB':>9} {'s':>6}  outcome")
    for pictures, name, length, options in rows:
        with tempfile.TemporaryDirectory() as directory:
            collection.write(f"{directory}/c", pictures)
            code, said, peak, seconds = collection.build(f"{directory}/c", *options)
        worst = max(worst, peak)
        problems = [line for line in said.splitlines() if line.startswith(("error:", "warning:"))]
        outcome = problems[0].split(": ", 2)[-1] if len(pictures) == 1 and problems else f"{len(problems)} problems"
        print(f"{name.rsplit('.', 1)[0]:<46} {length:>10,} {peak / 2**20:>9.0f} {seconds:>6.1f}  {outcome[:90]}", flush=True)
        if code not in (0, 1):
            print(said)
            worst = max(worst, LIMIT + 1)
    now = f"{worst / 2**20:.0f} MiB at most, limit 1024"
    return row("12", f"{len(made)} picture bombs, one by one and all twice in one collection", "5.7 GiB", now, worst <= LIMIT)


if __name__ == "__main__":
    sys.exit(main())
