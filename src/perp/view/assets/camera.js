// A camera that turns round a point: drag, right drag, wheel; one or two fingers.
const FIELD = (38 * Math.PI) / 180;

class Camera {
  constructor(canvas, changed) {
    this.changed = changed;
    this.canvas = canvas;
    this.fingers = new Map();
    this.home();
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      if (this.hand && event.button === 0 && this.hand.grab(event)) return;
      this.fingers.set(event.pointerId, event);
    });
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (event) => {
      this.fingers.delete(event.pointerId);
      if (this.hand && this.hand.held) this.hand.release();
    });
    canvas.addEventListener("pointermove", (event) => (this.hand && this.hand.held ? this.hand.drag(event) : this.moved(event)));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY * (event.deltaMode ? 0.05 : 0.0015)));
    }, { passive: false });
  }

  home(azimuth = -60, elevation = 18, nearer = 1) {
    Object.assign(this, {
      azimuth: (azimuth * Math.PI) / 180, elevation: (elevation * Math.PI) / 180, target: [...HEADER.centre], distance: 0, nearer,
    });
    this.changed();
  }

  moved(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
    if (this.fingers.size === 2) {
      const other = [...this.fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
      const gap = (finger) => Math.hypot(finger.clientX - other.clientX, finger.clientY - other.clientY) || 1;
      this.zoom(gap(before) / gap(event));
      this.pan(dx / 2, dy / 2);
    } else if (event.buttons & 2 || event.shiftKey) {
      this.pan(dx, dy);
    } else {
      this.azimuth -= dx * 0.006;
      this.elevation = Math.min(Math.max(this.elevation + dy * 0.006, -1.5), 1.56);
    }
    this.fingers.set(event.pointerId, event);
    this.changed();
  }

  zoom(factor) {
    this.distance = Math.min(Math.max(this.distance * factor, 0.02 * HEADER.radius), 40 * HEADER.radius);
    this.changed();
  }

  pan(dx, dy) {
    const metres = (2 * this.distance * Math.tan(FIELD / 2)) / this.canvas.clientHeight;
    const back = this.back();
    const right = unit(cross([0, 0, 1], back));
    this.target = add(this.target, add(scaled(right, -dx * metres), scaled(cross(back, right), dy * metres)));
  }

  back() {
    const c = Math.cos(this.elevation);
    return [c * Math.cos(this.azimuth), c * Math.sin(this.azimuth), Math.sin(this.elevation)];
  }

  // The matrix and the eye; at first the whole scene fills the view whatever its shape.
  view(aspect) {
    if (!this.distance) {
      const half = Math.min(FIELD / 2, Math.atan(Math.tan(FIELD / 2) * aspect));
      this.distance = (1.02 * HEADER.radius) / Math.sin(half) / this.nearer;
    }
    const eye = add(this.target, scaled(this.back(), this.distance));
    const camera = product(
      perspective(FIELD, aspect, 0.01 * this.distance, 100 * (this.distance + HEADER.radius)),
      lookAt(eye, this.target, [0, 0, 1]),
    );
    return { camera, eye };
  }
}
