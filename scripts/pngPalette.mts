/* Makes screenshots small: a PNG of at most 256 colours, written without a dependency. Format: https://www.w3.org/TR/png-3/ */
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const COLOURS = 256;
/** Grounds and texts have few colours, in large areas: those stay exactly as they are. */
const EXACT = 128;

interface Picture {
  readonly width: number;
  readonly height: number;
  /** Red, green and blue of each pixel. */
  readonly pixels: Buffer;
}

interface Colour {
  readonly rgb: readonly [number, number, number];
  readonly count: number;
}

function* chunksOf(png: Buffer): Generator<{ type: string; data: Buffer }> {
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    yield { type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) };
    at += length + 12;
  }
}

/** Reads what a browser's screenshot is: 8 bits a channel, three channels, not interlaced; anything else is refused. */
function decode(png: Buffer): Picture {
  const chunks = [...chunksOf(png)];
  const header = chunks.find(({ type }) => type === 'IHDR')?.data;
  if (header?.readUInt32BE(8) !== 0x08020000 || header[12] !== 0) throw new Error('not a PNG of 8-bit RGB');
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const raw = inflateSync(Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data)));
  const stride = width * 3;
  const pixels = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (stride + 1)] ?? 0;
    for (let x = 0; x < stride; x += 1) {
      const value = raw[y * (stride + 1) + 1 + x] ?? 0;
      const left = x < 3 ? 0 : (pixels[y * stride + x - 3] ?? 0);
      const up = y === 0 ? 0 : (pixels[(y - 1) * stride + x] ?? 0);
      const corner = x < 3 || y === 0 ? 0 : (pixels[(y - 1) * stride + x - 3] ?? 0);
      pixels[y * stride + x] = (value + predicted(filter, left, up, corner)) & 255;
    }
  }
  return { width, height, pixels };
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  if (filter !== 4) return 0;
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

function coloursOf({ pixels }: Picture): Colour[] {
  const counts = new Map<number, number>();
  for (let at = 0; at < pixels.length; at += 3) {
    const key = pixels.readUIntBE(at, 3);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([key, count]) => ({ rgb: [key >> 16, (key >> 8) & 255, key & 255], count }));
}

/** Median cut of what is rare: the box with the widest range is halved until there are enough. */
function paletteOf(colours: readonly Colour[]): Colour['rgb'][] {
  if (colours.length <= COLOURS) return colours.map(({ rgb }) => rgb);
  const boxes: Colour[][] = [colours.slice(EXACT)];
  while (boxes.length < COLOURS - EXACT) {
    const ranked = boxes.map((box, index) => ({ box, index, ...widest(box) })).sort((a, b) => b.range - a.range);
    const [first] = ranked;
    if (first === undefined || first.range === 0) break;
    const sorted = first.box.toSorted((a, b) => a.rgb[first.channel] - b.rgb[first.channel]);
    boxes.splice(first.index, 1, sorted.slice(0, sorted.length >> 1), sorted.slice(sorted.length >> 1));
  }
  return [...colours.slice(0, EXACT).map(({ rgb }) => rgb), ...boxes.map(meanOf)];
}

function widest(box: readonly Colour[]): { channel: 0 | 1 | 2; range: number } {
  const ranges = ([0, 1, 2] as const).map((channel) => {
    const values = box.map(({ rgb }) => rgb[channel]);
    return { channel, range: Math.max(...values) - Math.min(...values) };
  });
  return ranges.reduce((best, each) => (each.range > best.range ? each : best));
}

function meanOf(box: readonly Colour[]): Colour['rgb'] {
  const all = box.reduce((sum, { count }) => sum + count, 0);
  const mean = (channel: 0 | 1 | 2): number =>
    Math.round(box.reduce((sum, { rgb, count }) => sum + rgb[channel] * count, 0) / all);
  return [mean(0), mean(1), mean(2)];
}

function nearest([r, g, b]: Colour['rgb'], palette: readonly Colour['rgb'][]): number {
  let best = { index: 0, distance: Infinity };
  for (const [index, [red, green, blue]] of palette.entries()) {
    const distance = (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
    if (distance < best.distance) best = { index, distance };
  }
  return best.index;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** The same picture in at most 256 colours. */
export function withPalette(png: Buffer): Buffer {
  const picture = decode(png);
  const { width, height, pixels } = picture;
  const colours = coloursOf(picture);
  const palette = paletteOf(colours);
  const places = new Map(colours.map(({ rgb }) => [(rgb[0] << 16) | (rgb[1] << 8) | rgb[2], nearest(rgb, palette)]));
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1)
      rows[y * (width + 1) + 1 + x] = places.get(pixels.readUIntBE((y * width + x) * 3, 3)) ?? 0;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(palette.flat())),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
