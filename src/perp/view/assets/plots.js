// Small plots over time with a cursor; a press on one of them moves the time.
class Plot {
  constructor(canvas, times, curves, options, seek) {
    Object.assign(this, { canvas, times, curves, options });
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      const share = (event.clientX - box.left - this.left) / (box.width - this.left - 6);
      const { times } = this;
      seek(times[0] + Math.min(Math.max(share, 0), 1) * (times[times.length - 1] - times[0]));
    };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); at(event); });
    canvas.addEventListener("pointermove", (event) => { if (event.buttons) at(event); });
    this.left = 44;
    this.range();
  }

  // Other values, of a run that goes on; what a plot has no pixels for is left out.
  update(times, values) {
    const skip = Math.max(1, Math.ceil(times.length / 2000));
    const thin = (list) => (skip > 1 ? list.filter((_, i) => i % skip === 0 || i === list.length - 1) : list);
    this.times = thin(times);
    this.curves = this.curves.map((curve, k) => ({ ...curve, values: thin(values[k]) }));
    this.range();
  }

  // The values to show, with logarithms taken, and the ticks between them.
  range() {
    const { log, stacked, zero } = this.options;
    this.shown = this.curves.map(({ values }) => Float64Array.from(values, (v) => (log ? Math.log10(Math.max(v, log)) : v)));
    if (stacked) for (let k = 1; k < this.shown.length; k++) this.shown[k] = this.shown[k].map((v, i) => v + this.shown[k - 1][i]);
    let [low, high] = [Infinity, -Infinity];
    for (const values of this.shown) for (const v of values) if (Number.isFinite(v)) [low, high] = [Math.min(low, v), Math.max(high, v)];
    if (stacked || zero) low = Math.min(low, 0);
    const mark = log ? Math.log10(this.options.mark) : 0;
    if (log) [low, high] = [Math.floor(Math.min(low, mark - 1)), Math.max(Math.ceil(high), Math.ceil(mark) + 1)];
    if (!(high > low)) [low, high] = [stacked ? low : low - 1, high + 1];
    const pad = log || stacked ? 0 : 0.06 * (high - low);
    [this.low, this.high] = [low - pad, high + (stacked ? 0.08 * (high - low) : pad)];
    const fine = log ? Math.ceil((high - low) / 4) : roundLength((high - low) / 2.5);
    const gap = log || stacked ? Math.max(1, fine) : fine; // what is stacked are counts
    this.ticks = [];
    for (let tick = Math.ceil(this.low / gap) * gap; tick <= this.high; tick += gap) this.ticks.push(tick);
    this.gap = gap;
  }

  label(tick) {
    if (this.options.log) return tick === 0 ? "1" : `1e${tick}`;
    const digits = Math.max(0, -Math.floor(Math.log10(this.gap) + 1e-9));
    return Math.abs(tick) >= 1e4 ? tick.toExponential(0) : tick.toFixed(Math.min(digits, 6));
  }

  draw(time, ink) {
    const { canvas, left } = this;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width) return;
    Object.assign(canvas, { width: width * ratio, height: height * ratio });
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "11px system-ui, sans-serif";
    const [right, top, bottom] = [width - 6, 6, height - 16];
    const [begin, end] = [this.times[0], this.times[this.times.length - 1]];
    const x = (t) => left + ((t - begin) / (end - begin || 1)) * (right - left);
    const y = (v) => bottom - ((v - this.low) / (this.high - this.low)) * (bottom - top);
    pen.fillStyle = ink.quiet;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.strokeStyle = ink.line;
    for (const tick of this.ticks) {
      pen.fillText(this.label(tick), left - 6, y(tick));
      pen.beginPath(); pen.moveTo(left, y(tick)); pen.lineTo(right, y(tick)); pen.stroke();
    }
    pen.textBaseline = "alphabetic";
    pen.fillText(`${number(end)} s`, right, height - 2);
    pen.textAlign = "left";
    pen.fillText(number(begin), left, height - 2);
    if (this.options.log) this.tolerance(pen, x, y, ink);
    [...this.curves.keys()].reverse().forEach((k) => this.curve(pen, k, x, y, bottom));
    pen.strokeStyle = ink.text;
    pen.lineWidth = 1;
    const now = x(Math.max(time, begin)); // the start has no step
    pen.beginPath(); pen.moveTo(now, top - 4); pen.lineTo(now, bottom); pen.stroke();
  }

  curve(pen, k, x, y, bottom) {
    const values = this.shown[k];
    pen.beginPath();
    for (let i = 0; i < values.length; i++) pen.lineTo(x(this.times[i]), y(values[i]));
    if (this.options.stacked) {
      for (let i = values.length - 1; i >= 0; i--) pen.lineTo(x(this.times[i]), k ? y(this.shown[k - 1][i]) : bottom);
      pen.fillStyle = this.curves[k].color;
      pen.globalAlpha = 0.85;
      pen.fill();
      pen.globalAlpha = 1;
      return;
    }
    pen.strokeStyle = this.curves[k].color;
    pen.lineWidth = this.curves[k].width || 1.6;
    pen.lineJoin = "round";
    pen.stroke();
  }

  tolerance(pen, x, y, ink) {
    const at = Math.log10(this.options.mark);
    pen.strokeStyle = "#e5484d";
    pen.setLineDash([4, 3]);
    pen.beginPath(); pen.moveTo(x(this.times[0]), y(at)); pen.lineTo(x(this.times[this.times.length - 1]), y(at)); pen.stroke();
    pen.setLineDash([]);
    pen.fillStyle = ink.quiet;
    pen.textAlign = "right";
    pen.fillText("tolerance", x(this.times[this.times.length - 1]), y(at) - 4);
  }
}
