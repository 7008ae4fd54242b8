import type { Page } from 'playwright-core';

/** A text that is hard to read. */
export interface LowContrast {
  readonly text: string;
  readonly ratio: number;
}

/**
 * The texts on a page whose contrast (WCAG 2.2, 1.4.3) is below 4.5, or below 3 (1.4.11) for signs that are hidden from
 * screen readers because a word stands beside them. Text that is disabled or out of sight is left out.
 */
export async function lowContrast(page: Page): Promise<LowContrast[]> {
  return page.evaluate<LowContrast[]>(`(() => {
    const parse = (text) => {
      const [r, g, b, a = 1] = (text.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
      return { r, g, b, a };
    };
    const over = (top, under) => ({
      r: top.r * top.a + under.r * (1 - top.a),
      g: top.g * top.a + under.g * (1 - top.a),
      b: top.b * top.a + under.b * (1 - top.a),
      a: 1,
    });
    const backOf = (element) => {
      if (element === null) return { r: 255, g: 255, b: 255, a: 1 };
      const own = parse(getComputedStyle(element).backgroundColor);
      return own.a === 1 ? own : over(own, backOf(element.parentElement));
    };
    const light = ({ r, g, b }) => {
      const [x, y, z] = [r, g, b].map((each) => {
        const part = each / 255;
        return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const found = [];
    for (const element of document.querySelectorAll('#root *')) {
      const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join('').trim();
      if (text === '' || element.closest('[aria-disabled=true], .hidden') !== null) continue;
      const back = backOf(element);
      const lights = [light(over(parse(getComputedStyle(element).color), back)), light(back)].sort((a, b) => b - a);
      const ratio = (lights[0] + 0.05) / (lights[1] + 0.05);
      const needed = element.closest('.sign') === null ? 4.5 : 3;
      if (ratio < needed) found.push({ text: text.slice(0, 40), ratio: Math.round(ratio * 100) / 100 });
    }
    return found;
  })()`);
}
