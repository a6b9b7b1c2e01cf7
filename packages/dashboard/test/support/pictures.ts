/** Pictures of pages, and how much two of them differ. */
import type { Page } from "playwright-core";

/** What the window shows, as WebP: a quarter of the size of a PNG. */
export async function picture(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  try {
    const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 78 });
    return Buffer.from(data, "base64");
  } finally {
    await session.detach();
  }
}

/**
 * How much two pictures differ, from 0 to 1: the average of the differences of their areas. Each is made small first,
 * so that fonts, ids and the antialiasing of another machine hardly count, and a panel that is missing does.
 */
export async function differenceOf(page: Page, one: Buffer, other: Buffer): Promise<number> {
  const blank = await page.context().newPage();
  try {
    return Number(
      await blank.evaluate(
        async ([first, second, size]) => {
          const pixels = async (data: string): Promise<Uint8ClampedArray> => {
            const bytes = Uint8Array.from(atob(data), (each) => each.charCodeAt(0));
            const image = await createImageBitmap(new Blob([bytes], { type: "image/webp" }));
            const canvas = new OffscreenCanvas(size, size);
            const context = canvas.getContext("2d");
            if (context === null) throw new Error("The browser cannot draw");
            context.imageSmoothingQuality = "high";
            context.drawImage(image, 0, 0, size, size);
            return context.getImageData(0, 0, size, size).data;
          };
          const [a, b] = await Promise.all([pixels(first), pixels(second)]);
          let sum = 0;
          for (const [index, value] of a.entries()) sum += Math.abs(value - (b[index] ?? 0));
          return sum / a.length / 255;
        },
        [one.toString("base64"), other.toString("base64"), 36] as const,
      ),
    );
  } finally {
    await blank.close();
  }
}
