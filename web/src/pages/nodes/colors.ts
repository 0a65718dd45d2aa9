/** Colour tokens as bytes, for pictures that are made pixel by pixel. */
export function readBytes(host: HTMLElement, colors: readonly string[]): Uint8ClampedArray[] {
  const probe = document.createElement("span");
  host.append(probe);
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const bytes = colors.map((color) => {
    probe.style.color = color;
    if (!context) return new Uint8ClampedArray([128, 128, 128, 255]);
    context.fillStyle = getComputedStyle(probe).color;
    context.fillRect(0, 0, 1, 1);
    return context.getImageData(0, 0, 1, 1).data.slice();
  });
  probe.remove();
  return bytes;
}

export const cssOf = (bytes: Uint8ClampedArray | undefined): string => (bytes ? `rgb(${bytes[0]} ${bytes[1]} ${bytes[2]})` : "gray");
