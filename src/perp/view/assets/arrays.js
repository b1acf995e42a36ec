// The recording: a JSON header and one compressed block of arrays.
const HEADER = JSON.parse(document.getElementById("header").textContent);
const KINDS = { f4: Float32Array, i2: Int16Array, u4: Uint32Array, i4: Int32Array, i1: Int8Array, u1: Uint8Array };

async function unpack() {
  const text = document.getElementById("data").textContent;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  const arrays = {};
  for (const [name, [kind, offset, size]] of Object.entries(HEADER.arrays)) {
    arrays[name] = new KINDS[kind](buffer, offset, size);
  }
  if (HEADER.live) return arrays;
  sumOverFrames(arrays.position, 3 * HEADER.bodies.length);
  sumOverFrames(arrays.quaternion, 4 * HEADER.bodies.length);
  return arrays;
}

// Frames hold differences from the frame before; sums wrap round as the differences did.
function sumOverFrames(values, width) {
  for (let i = width; i < values.length; i++) values[i] += values[i - width];
}
